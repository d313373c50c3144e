//! Businesses that people registered themselves, until the operator lets them take real money. The switch itself is a setting
//! like others ([`super::businesses`]).

use crate::app::App;
use crate::domain::merchant::Business;
use crate::ops::OpError;
use crate::ops::notices::mails::text_mail;
use crate::store::Step;

/// Businesses that a list of those that wait shows.
const WAITING_SHOWN: usize = 200;

/// Businesses that were registered and wait for the operator, the oldest first.
pub async fn waiting_businesses(app: &App) -> Result<Vec<Business>, OpError> {
    Ok(app.store.businesses_waiting(WAITING_SHOWN).await?)
}

/// The mail to a business that may take real money from now on.
pub(super) async fn told_that_it_is_live(app: &App, business: &Business) -> Result<Vec<Step>, OpError> {
    let (name, base) = (&business.name, app.public_url());
    let text = format!(
        "{name} may take real money now. Make a live key for your programs:\n\n{base}/dashboard/keys?business={}\n",
        business.id
    );
    text_mail(app, &business.email, "Your business takes real money now", &text).await
}
