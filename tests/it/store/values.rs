//! What goes into the columns and what must not, the same on both engines.

use tillbell::store::{Applied, Row, Step, StoreError, Value};

use super::*;

static NEW_BUSINESS: Sql = Sql::new(
    "NEW_BUSINESS",
    Text::Insert {
        table: "businesses",
        columns: &[
            ("id", Column::Int),
            ("name", Column::Text),
            ("email", Column::Text),
            ("webhook_url", Column::Text),
            ("is_active", Column::Int),
            ("is_wallet_enabled", Column::Int),
            ("rate_limit", Column::Int),
            ("charge_rate", Column::Int),
            ("charge_fixed_kobo", Column::Int),
            ("is_charge_paid_by_customer", Column::Int),
            ("is_charged", Column::Int),
            ("webhook_secret", Column::Bytes),
            ("previous_webhook_secret", Column::Bytes),
            ("created_at", Column::Int),
            ("updated_at", Column::Int),
            ("version", Column::Int),
        ],
    },
);
static BUSINESS: Sql = query(
    "BUSINESS",
    "select name, webhook_url, rate_limit, webhook_secret, previous_webhook_secret from businesses where id = $1",
);
static FORGET_URL: Sql = query(
    "FORGET_URL",
    "update businesses set webhook_url = $2, rate_limit = $3, previous_webhook_secret = $4 where id = $1",
);
static NEW_ACT: Sql = Sql::new(
    "NEW_ACT",
    Text::Insert {
        table: "operator_acts",
        columns: &[
            ("id", Column::Int),
            ("operator", Column::Text),
            ("act", Column::Text),
            ("subject", Column::Text),
            ("reason", Column::Text),
            ("acted_at", Column::Int),
        ],
    },
);
static ACTS: Sql = query("ACTS", "select reason from operator_acts order by id");
static CHANGE_ACT: Sql = query("CHANGE_ACT", "update operator_acts set reason = $2 where id = $1");
static DELETE_ACT: Sql = query("DELETE_ACT", "delete from operator_acts where id = $1");
static NO_SUCH_TABLE: Sql = query("NO_SUCH_TABLE", "select id from no_such_table where id = $1");
static OVERFLOW: Sql = query("OVERFLOW", "update counters set value = value + $2 where name = $1");

#[derive(Clone)]
struct Filling {
    name: String,
    url: Option<String>,
    limit: Option<i64>,
    secret: Vec<u8>,
    previous: Option<Vec<u8>>,
}

impl Filling {
    fn step(&self, id: i64) -> Step {
        let one = Value::Int(1);
        let mut values: Vec<Value> =
            vec![id.into(), self.name.as_str().into(), "a@b.example".into(), self.url.clone().into()];
        values.extend([
            one.clone(),
            one.clone(),
            self.limit.into(),
            one.clone(),
            one.clone(),
            one.clone(),
            one.clone(),
        ]);
        values.extend([
            self.secret.clone().into(),
            self.previous.clone().into(),
            one.clone(),
            one.clone(),
            one,
        ]);
        Step::one(&NEW_BUSINESS, values)
    }

    fn assert_is(&self, row: Row) {
        let mut row = row.reader("businesses");
        assert!(row.text("name").unwrap() == self.name, "name differs");
        assert_eq!(row.opt_text("webhook_url").unwrap(), self.url);
        assert_eq!(row.opt_int("rate_limit").unwrap(), self.limit);
        assert!(row.bytes("webhook_secret").unwrap() == self.secret, "secret differs");
        assert_eq!(row.opt_bytes("previous_webhook_secret").unwrap(), self.previous);
    }
}

fn is_fault(answer: &Result<Applied, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Fault(_)))
}

on_both! {
    async fn nulls_and_large_values_come_back_as_they_went_in(db: TestDatabase) {
        let store = open(db.url()).await;
        let large: String = "Naïve ₦ 𝄞 '\"\\ \n".chars().cycle().take(700_000).collect();
        let bytes: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
        let fillings = [
            Filling { name: String::new(), url: None, limit: None, secret: Vec::new(), previous: None },
            Filling { name: large, url: Some(String::new()), limit: Some(i64::MIN), secret: bytes.clone(), previous: Some(Vec::new()) },
            Filling { name: "{}, NULL".into(), url: Some("NULL".into()), limit: Some(i64::MAX), secret: vec![0], previous: Some(bytes) },
        ];
        // Together (gathered into one insert where the engine does that), and once more alone.
        let mut units = Vec::new();
        for (n, filling) in (1..).zip(&fillings) {
            units.push(store.unit(1).await.unwrap().step(filling.step(n)));
        }
        assert!(apply_in_order(&store, units).await.into_iter().all(|answer| answer.unwrap().is_done()));
        for (n, filling) in (11..).zip(&fillings) {
            assert!(store.apply(store.unit(1).await.unwrap().step(filling.step(n))).await.unwrap().is_done());
        }
        for (n, filling) in (1..).zip(&fillings) {
            for id in [n, n + 10] {
                filling.assert_is(store.read_one(&BUSINESS, vec![Value::Int(id)]).await.unwrap().unwrap());
            }
        }
        // As parameters of an update as well.
        let nulls = vec![3.into(), Value::Null, Value::Null, Value::Null];
        assert!(store.apply(store.unit(1).await.unwrap().step(Step::one(&FORGET_URL, nulls))).await.unwrap().is_done());
        let filling = Filling { url: None, limit: None, previous: None, ..fillings[2].clone() };
        filling.assert_is(store.read_one(&BUSINESS, vec![3.into()]).await.unwrap().unwrap());
    }

    async fn a_null_where_none_may_be_is_refused(db: TestDatabase) {
        let store = open(db.url()).await;
        let unit = store.unit(1).await.unwrap().step(Step::one(&NEW_COUNTER, vec!["x".into(), Value::Null]));
        assert_eq!(store.apply(unit).await.unwrap(), Applied::ConstraintViolation { statement: "NEW_COUNTER" });
    }

    // PostgreSQL has no NUL in texts: it is written as the sign for what cannot be shown, on both
    // engines, so that what holds one is stored at all.
    async fn a_text_with_nul_is_stored(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        let mut units = Vec::new();
        for n in 0..40 {
            let name = if n == 20 { "a\0b".to_owned() } else { n.to_string() };
            units.push(marking(&store, n % 3, &name).await.unwrap());
        }
        let answers = apply_in_order(&store, units).await;
        assert!(answers.into_iter().all(|answer| answer.unwrap().is_done()));
        assert!(store.read(&VALUE, vec!["a\0b".into()]).await.is_ok());
        checked_total(&store).await;
    }

    async fn what_the_program_gets_wrong_is_a_fault_of_its_own_unit_only(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["total", "high"]).await;
        assert!(store.write(&ADD_TO, vec!["high".into(), i64::MAX.into()]).await.unwrap().is_done());
        let wrong = [
            Step::one(&NEW_COUNTER, vec!["short".into()]),
            Step::one(&NEW_COUNTER, vec!["long".into(), 1.into(), 2.into()]),
            Step::one(&NEW_COUNTER, vec!["type".into(), "one".into()]),
            Step::one(&NEW_COUNTER, vec!["type".into(), vec![1u8].into()]),
            Step::one(&ADD_TO, vec!["total".into()]),
            Step::one(&ADD_TO, vec!["total".into(), 1.into(), 1.into()]),
            Step::any(&NO_SUCH_TABLE, vec![1.into()]),
            Step::one(&OVERFLOW, vec!["high".into(), 1.into()]),
        ];
        for (n, step) in wrong.into_iter().enumerate() {
            let units = vec![
                marking(&store, 1, &format!("{n} before")).await.unwrap(),
                store.unit(1).await.unwrap().step(step),
                marking(&store, 1, &format!("{n} after")).await.unwrap(),
            ];
            let answers = apply_in_order(&store, units).await;
            assert!(is_fault(&answers[1]), "{n}: {:?}", answers[1]);
            assert!(answers[0].as_ref().unwrap().is_done() && answers[2].as_ref().unwrap().is_done(), "{n}");
        }
        for (sql, params) in [(&NO_SUCH_TABLE, vec![1.into()]), (&VALUE, vec![]), (&VALUE, vec!["a".into(), "b".into()])] {
            let read = store.read(sql, params).await;
            assert!(matches!(read, Err(StoreError::Fault(_))), "{read:?}");
        }
        assert_eq!(checked_total(&store).await, 16);
        assert_eq!(value(&store, "high").await, Some(i64::MAX));
    }

    async fn what_is_written_for_ever_stays(db: TestDatabase) {
        let store = open(db.url()).await;
        let act = vec![1.into(), "ada".into(), "credit".into(), "7".into(), "a reason".into(), 5.into()];
        assert!(store.write(&NEW_ACT, act).await.unwrap().is_done());
        for (sql, params) in [(&CHANGE_ACT, vec![1.into(), "another".into()]), (&DELETE_ACT, vec![1.into()])] {
            let unit = store.unit(1).await.unwrap().step(Step::any(sql, params));
            assert_eq!(store.apply(unit).await.unwrap(), Applied::ConstraintViolation { statement: sql.name });
        }
        let row = store.read_one(&ACTS, Vec::new()).await.unwrap().unwrap();
        assert_eq!(row.reader("operator_acts").text("reason").unwrap(), "a reason");
    }
}
