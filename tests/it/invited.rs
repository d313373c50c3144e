//! Who is invited into a business, and what proves that an address is that of whoever opens the link.

use tillbell::domain::time::Span;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::ops::people::invite::invite_member;
use tillbell::ops::people::links::{make_reset_link, set_password};
use tillbell::ops::people::sessions::businesses_of;
use tillbell::ops::people::sign_in::SignInRefused;
use tillbell::ops::people::users::{Place, UserRefusal, add_user, reset_user};

use crate::harness::app::{TestApp, world};
use crate::people::{EMAIL, OTHER, PASSWORD, added, refused, session, signed_in, token_of};

on_both! {
    async fn an_address_that_nothing_proves_belongs_to_one_business(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        // Without mails the inviter has the link, and with it the account.
        let mine = invite_member(&t.app, "m@adire.example", shop.id, EMAIL, MemberRole::Viewer).await.unwrap().unwrap();
        set_password(&t.app, &token_of(&mine), PASSWORD).await.unwrap().unwrap();
        let thief = signed_in(&t, EMAIL, PASSWORD).await;
        let invited = invite_member(&t.app, "b@bolu.example", other.id, EMAIL, MemberRole::Owner).await.unwrap();
        assert_eq!(invited.unwrap_err(), UserRefusal::Unproven(EMAIL.to_owned()));
        assert!(session(&t, &thief).await.is_some(), "and nobody is signed out by it");
        // The operator gives the address a place: whoever has the account has it no more.
        let staff = added(&t, EMAIL, Place::Staff(StaffRole::Admin)).await;
        assert!(session(&t, &thief).await.is_none());
        assert_eq!(refused(&t, EMAIL, PASSWORD).await, SignInRefused::Wrong);
        set_password(&t.app, &token_of(&staff), OTHER).await.unwrap().unwrap();
        signed_in(&t, EMAIL, OTHER).await;
        // Now the operator vouches for it: others may invite it, without a link and without an end of sessions.
        let own = signed_in(&t, EMAIL, OTHER).await;
        let invited = invite_member(&t.app, "b@bolu.example", other.id, EMAIL, MemberRole::Owner).await.unwrap().unwrap();
        assert!(invited.link.is_none());
        let own = session(&t, &own).await.unwrap();
        assert_eq!(businesses_of(&t.app, &own).await.unwrap().len(), 2);
        let again = invite_member(&t.app, "b@bolu.example", other.id, EMAIL, MemberRole::Viewer).await.unwrap();
        assert!(matches!(again.unwrap_err(), UserRefusal::Already { .. }));
    }

    async fn a_reset_by_mail_or_by_the_operator_proves_an_address(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        for (email, by_mail) in [("ife@till.example", true), ("bem@till.example", false)] {
            let added = invite_member(&t.app, "m@adire.example", shop.id, email, MemberRole::Viewer).await.unwrap().unwrap();
            set_password(&t.app, &token_of(&added), PASSWORD).await.unwrap().unwrap();
            let link = match by_mail {
                true => make_reset_link(&t.app, email, (1, b"n")).await.unwrap().unwrap().to_string(),
                false => reset_user(&t.app, "ada", added.user.id).await.unwrap().unwrap().link.unwrap().to_string(),
            };
            set_password(&t.app, link.rsplit('/').next().unwrap(), OTHER).await.unwrap().unwrap();
            assert_eq!(refused(&t, email, PASSWORD).await, SignInRefused::Wrong);
            invite_member(&t.app, "b@bolu.example", other.id, email, MemberRole::Viewer).await.unwrap().unwrap();
        }
    }

    async fn each_try_of_a_mail_brings_the_same_link_for_an_hour_from_then(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let place = Place::Member(shop.id, MemberRole::Viewer);
        add_user(&t.app, "ada", "ife@till.example", place, Some(PASSWORD)).await.unwrap().unwrap();
        let link = async |mail: i64| make_reset_link(&t.app, "ife@till.example", (mail, b"n")).await.unwrap();
        let first = link(1).await.unwrap();
        assert_ne!(*link(2).await.unwrap(), *first, "another mail has another one");
        let token = first.rsplit('/').next().unwrap();
        for _ in 0..3 {
            t.advance(Span::minutes(50));
            assert_eq!(*link(1).await.unwrap(), *first);
        }
        t.advance(Span::minutes(59));
        set_password(&t.app, token, OTHER).await.unwrap().unwrap();
        assert!(link(1).await.is_none(), "a used link is sent no more");
    }

    async fn invitations_by_mail_wait_for_one_another(db: TestDatabase) {
        let mails = "[server]\ndev = true\n[notify]\nsmtp_url = \"smtp://127.0.0.1:9\"\nfrom = \"till@kudu.example\"\n";
        let t = TestApp::start_with(db, mails).await;
        let (shop, other) = (t.merchant("adire.example").await, t.merchant("bolu.example").await);
        let invite = async |business: i64, n: i64| {
            let email = format!("stranger{n}@till.example");
            invite_member(&t.app, "m@adire.example", business, &email, MemberRole::Viewer).await.unwrap().map(|_| ())
        };
        for n in 1..=5 {
            assert_eq!(invite(shop.id, n).await, Ok(()), "{n}");
        }
        let often = invite(shop.id, 6).await.unwrap_err();
        assert!(often.to_string().contains("try again in 1 seconds"), "{often}");
        assert_eq!(t.app.store.members(shop.id).await.unwrap().len(), 5);
        assert_eq!(invite(other.id, 7).await, Ok(()), "another business has not invited anybody");
        t.advance(Span::seconds(1));
        assert_eq!(invite(shop.id, 6).await, Ok(()));
    }
}
