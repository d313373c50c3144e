//! The shop's payouts in the month before the demo: asked for each Monday, one refused, the last one left for the newcomer.

use std::cell::Cell;

use anyhow::{Context, bail};

use super::weekday;
use crate::app::App;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::ops::payouts::accounts::{GivenAccount, Owner, add_payout_account};
use crate::ops::payouts::end::{Marking, Outcome, Seat, mark_payout};
use crate::ops::payouts::request::{Actor, PayoutRequest, balance, request_payout};

const MONDAY: i64 = 1;
/// Asked for in whole thousands of naira; this is one in kobo.
const ROUND: i64 = 100_000;
/// Of those asked for, the one that is refused.
const REFUSED: usize = 2;

pub(super) struct Payouts<'a> {
    app: &'a App,
    owner: Owner<'a>,
    /// Who ends them at the desk.
    reviewer: &'a str,
    account_id: i64,
    /// Pending, asked for on an earlier day.
    pending: Cell<Option<i64>>,
    asked: Cell<usize>,
}

impl<'a> Payouts<'a> {
    /// The owner names the account that the money is to go to.
    pub async fn open(app: &'a App, owner: Owner<'a>, reviewer: &'a str) -> anyhow::Result<Payouts<'a>> {
        let given = GivenAccount { bank: "Zenith Bank", number: "2001884417", name: "SUYA SPOT LIMITED" };
        let account = add_payout_account(app, &owner, &given).await??;
        let (pending, asked) = (Cell::new(None), Cell::new(0));
        Ok(Payouts { app, owner, reviewer, account_id: account.id, pending, asked })
    }

    /// The morning of a day: what was asked for before is ended, and on a Monday more is asked for.
    pub async fn morning(&self, at: Timestamp) -> anyhow::Result<()> {
        if let Some(id) = self.pending.take() {
            self.ended(id).await?;
        }
        if weekday(at.lagos_day()) == MONDAY {
            self.ask().await?;
        }
        Ok(())
    }

    /// The operator waits for one at the end of the month, whatever the day is.
    pub async fn evening(&self) -> anyhow::Result<()> {
        if self.pending.get().is_none() {
            self.ask().await?;
        }
        Ok(())
    }

    /// Most of what there is: the rest stays for what the bank may take back.
    async fn ask(&self) -> anyhow::Result<()> {
        let available = balance(self.app, self.owner.business_id).await?.available;
        let amount = Money(available.kobo() * 4 / 5 / ROUND * ROUND);
        if !amount.is_positive() {
            return Ok(());
        }
        let actor = Actor::Member { user_id: self.owner.user_id, email: self.owner.email };
        let request = PayoutRequest {
            business_id: self.owner.business_id,
            amount,
            account_id: self.account_id,
            reference: None,
        };
        let row = request_payout(self.app, actor, &request, None).await?.context("the demo's payout")?;
        self.pending.set(Some(row.payout.id));
        self.asked.set(self.asked.get() + 1);
        Ok(())
    }

    async fn ended(&self, id: i64) -> anyhow::Result<()> {
        let is_refused = self.asked.get() == REFUSED;
        let bank_reference = format!("FT{:010}", 4_417_000 + id);
        let marking = Marking {
            id,
            outcome: if is_refused { Outcome::Refused } else { Outcome::Paid },
            by: self.reviewer,
            seat: Seat::Desk,
            reference: (!is_refused).then_some(bank_reference.as_str()),
            reason: is_refused.then_some("The bank was closed for the day; please ask again"),
        };
        if let Err(refusal) = mark_payout(self.app, &marking).await? {
            bail!("the demo's payout was not ended: {refusal}");
        }
        Ok(())
    }
}
