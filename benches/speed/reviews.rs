//! How many honest alerts a person has to look at only because another merchant's payment may be meant. 20
//! accounts, 50 businesses and 20,000 open payments at popular and at odd prices, made as merchants make them;
//! then each one's own alert is weighed. Counts, no speed.

use std::time::Instant;

use tillbell::domain::matching::Verdicts;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{PayerDetails, Payment};
use tillbell::ops::alerts::weigh::{NAMES_ANOTHER, weigh};
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};

use crate::report::{Goal, Report};
use crate::world::{Dice, World, said};
use crate::{Size, people, scratch};

const ACCOUNTS: usize = 20;
const BUSINESSES: usize = 50;
/// Prices that many merchants ask, in naira.
const POPULAR: [i64; 16] = [
    500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 5_000, 7_500, 10_000, 12_000, 15_000, 20_000, 25_000,
    50_000, 100_000,
];
/// Of a hundred payments so many have a popular price.
const AT_POPULAR: usize = 60;
const WANTED_PERCENT: f64 = 0.5;
/// Parts of the reasons that speak of another merchant's payment.
const FOR_OTHERS: [&str; 5] = [
    NAMES_ANOTHER,
    "from a payer of such a name on another account",
    "beneficiar",
    "not all were checked",
    "too many payments bear",
];

pub async fn run(report: &mut Report, size: &Size) {
    let folder = scratch();
    let url = format!("sqlite:{}", folder.path().join("bench.db").display());
    let world = World::new(&url, BUSINESSES, "").await;
    let accounts = world.pool(ACCOUNTS).await;
    let count = size.of(20_000, 1_000);
    let mut dice = Dice(20_260_101);
    let began = Instant::now();
    let mut payments = Vec::with_capacity(count);
    let mut refused = 0;
    for _ in 0..count {
        match create(&world, &mut dice).await {
            Some(payment) => payments.push(payment),
            None => refused += 1,
        }
    }
    said(&format!("{count} creates, {refused} without an account"), began);
    let (mut matched, mut else_wise) = (0, 0);
    let mut by_others = [0; FOR_OTHERS.len()];
    for payment in &payments {
        let account =
            accounts.iter().find(|account| Some(account.id) == payment.account_id).expect("its account");
        let mut alert = world.alert(payment).await;
        alert.account_id = Some(account.id);
        let payer = people::as_banks_write(&payment.payer_name, &mut dice);
        alert.facts.narration = Some(narration(&payer, &mut dice));
        alert.facts.payer_name = Some(payer);
        match weigh(&world.app, &alert).await.expect("the store").decision.verdict {
            Verdicts::Approve { payment_id, .. } => {
                assert_eq!(payment_id, payment.id, "somebody else's payment");
                matched += 1;
            }
            Verdicts::Review { reasons, .. } => match which_of_others(&reasons) {
                Some(at) => by_others[at] += 1,
                None => else_wise += 1,
            },
            Verdicts::Unmatched { .. } => else_wise += 1,
        }
    }
    let share = 100.0 * f64::from(by_others.iter().sum::<i32>()) / payments.len() as f64;
    let each: Vec<String> =
        FOR_OTHERS.iter().zip(by_others).map(|(part, count)| format!("{count} {part:?}")).collect();
    let notes =
        format!("{matched} by themselves, {else_wise} for other reasons; for others: {}", each.join(", "));
    let what = format!("honest alerts to a person, {} payments", payments.len());
    report.add(&what, "%", share, WANTED_PERCENT, Goal::Below, &notes);
}

/// What stands beside the payer: nothing, what it is for, or for whom.
fn narration(payer: &str, dice: &mut Dice) -> String {
    const WHAT_FOR: [&str; 6] =
        ["RENT", "SCHOOL FEES", "INVOICE 204", "DATA", "GOODS SUPPLIED", "THANK YOU SIR"];
    match dice.below(10) {
        0..4 => format!("NIP/OPAY/{payer}"),
        4..6 => format!("TRANSFER FROM {payer}"),
        6..8 => format!("FIP:GTB/{payer}/{}", WHAT_FOR[dice.below(WHAT_FOR.len())]),
        _ => format!("FIP:GTB/{payer}/FOR {}", dice.name().to_uppercase()),
    }
}

fn which_of_others(reasons: &[String]) -> Option<usize> {
    FOR_OTHERS.iter().position(|part| reasons.iter().any(|reason| reason.contains(part)))
}

/// What a merchant asks, in whole naira.
pub fn price(dice: &mut Dice) -> i64 {
    if dice.below(100) < AT_POPULAR {
        POPULAR[dice.below(POPULAR.len())]
    } else {
        200 + dice.below(60_000) as i64
    }
}

async fn create(world: &World, dice: &mut Dice) -> Option<Payment> {
    let merchant = &world.businesses[dice.below(BUSINESSES)];
    let naira = price(dice);
    let caller = world.app.directory.caller(&merchant.key).await.expect("a store").expect("a key");
    let new = NewPayment {
        transaction_id: None,
        base: Money(naira * 100),
        payer_name: people::name(dice),
        payer: PayerDetails::default(),
        bvn: None,
        webhook_url: Some(format!("{}/hook", merchant.website.url)),
        website: Some(merchant.website.clone()),
        till_user_id: None,
        return_url: None,
    };
    match create_payment(&world.app, &caller, new, None).await.expect("a store") {
        Created::Payment(view) => Some(view.payment),
        _ => None,
    }
}
