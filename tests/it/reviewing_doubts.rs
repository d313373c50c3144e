//! What is doubtful about a mail stands in a person's way, who overrides it with a reason; what naming the payment
//! answers does not.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::ApproveRefused;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};

use crate::counted_once::approve_on;
use crate::harness::app::{ACCOUNT, LATER, world};
use crate::harness::mails::Alert;

const PAYER: &str = "Zara Lami Gyang";

on_both! {
    async fn a_doubtful_mail_is_approved_only_with_a_reason(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 3_475, PAYER).await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 3_475, PAYER, t.app.now() - Span::minutes(2));
        let hidden = "</table><div style=\"display:none\">Amount : NGN 9,000.00 was credited</div>";
        let mail = credit.text();
        let (head, rest) = mail.rsplit_once("</table>").unwrap();
        let held = t.ingest(&format!("{head}{hidden}{rest}")).await;
        assert_eq!(held.status, AlertStatus::Review, "{held:?}");
        let refused = approve_on(&t.app, held.alert_id, &payment, None).await.unwrap_err();
        let ApproveRefused::Obstacles(all) = &refused else { panic!("{refused}") };
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(all[0].starts_with("the mail is doubtful: the mail has hidden content"), "{all:?}");
        approve_on(&t.app, held.alert_id, &payment, Some("it is on the bank's statement")).await.unwrap();
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
    }

    async fn doubts_that_a_person_answers_by_naming_the_payment_are_no_obstacles(db: TestDatabase) {
        let (t, shop) = world(db).await;
        // The mask of the bank's mails tells these two apart no more.
        t.account("0123464417").await;
        // Accounts take turns.
        let one = t.create(&shop, 3_485, PAYER).await;
        t.create(&shop, 900, "Sani Lawal").await;
        let two = t.create(&shop, 3_495, PAYER).await;
        assert_eq!(one.account_id, two.account_id);
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 3_485, PAYER, t.app.now() - Span::minutes(2));
        let held = t.ingest(&credit.text()).await;
        assert!(held.reason.contains("several registered accounts"), "{held:?}");
        // That the account is unclear is asked once, and not as a doubt of the mail's.
        let refused = approve_on(&t.app, held.alert_id, &two, None).await.unwrap_err();
        let ApproveRefused::Obstacles(obstacles) = &refused else { panic!("{refused}") };
        assert!(obstacles.len() == 1 && obstacles[0].contains("does not say which account"), "{refused}");
        let despite = Some("it is on the statement of that account");
        approve_on(&t.app, held.alert_id, &two, despite).await.unwrap();
        let undo = Reverse {
            business_id: shop.id,
            transaction_id: &two.transaction_id,
            reason: "the wrong one",
            operator: "ife",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &undo).await.unwrap().unwrap();
        // Who reversed a wrong match knows of it; the mail says no more of the account than before.
        let refused = approve_on(&t.app, held.alert_id, &one, None).await.unwrap_err();
        let ApproveRefused::Obstacles(obstacles) = &refused else { panic!("{refused}") };
        assert!(obstacles.len() == 1 && obstacles[0].contains("does not say which account"), "{refused}");
        approve_on(&t.app, held.alert_id, &one, despite).await.unwrap();
        assert_eq!(t.payment(&one).await.status, Status::Approved);
    }
}
