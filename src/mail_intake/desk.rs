//! What the operator's desk asks about mails and banks ([`MailDesk`]): mails are opened on the threads of the intake, with
//! its templates. Handed to the pages by `serve`.

use super::given_bank::given_bank;
use super::ingest::{Arrival, KEPT_OF_OVERSIZED, MailIngestor, Origin, ingest};
use super::reread::reread;
use crate::alert_reader::check::outcome_word;
use crate::alert_reader::marks::marked;
use crate::alert_reader::write::{Told, write};
use crate::app::App;
use crate::domain::alert::{AlertFacts, AlertRow};
use crate::ops::OpError;
use crate::ops::alerts::decide::AlertOutcome;
use crate::ops::alerts::mail_desk::{KnownBank, MailAnswer, MailDesk, MailSeen, SimulatedMail, TriedMail};
use crate::ops::alerts::read::find_mail;
use crate::ops::alerts::reread::{Reread, RereadRefused};
use crate::ops::alerts::simulated::Simulated;
use crate::ops::merchants::accounts::GivenBank;

impl MailDesk for MailIngestor {
    fn see<'a>(&'a self, app: &'a App, alert: &'a AlertRow) -> MailAnswer<'a, MailSeen> {
        Box::pin(async move {
            match find_mail(app, alert.id).await? {
                None => Ok(MailSeen::Gone),
                Some(raw) if raw.len() == KEPT_OF_OVERSIZED => {
                    Ok(MailSeen::Unreadable("the mail was too large, and only its beginning is kept".into()))
                }
                Some(raw) => self.seen(raw, alert.facts.clone()).await,
            }
        })
    }

    fn reread<'a>(
        &'a self,
        app: &'a App,
        alert_id: i64,
        operator: &'a str,
    ) -> MailAnswer<'a, Result<Reread, RereadRefused>> {
        Box::pin(async move {
            let done = reread(app, self, alert_id, operator).await?;
            Ok(done.map(|(_, done)| done))
        })
    }

    fn try_mail<'a>(&'a self, app: &'a App, raw: Vec<u8>) -> MailAnswer<'a, TriedMail> {
        Box::pin(async move {
            let (reading, live) = self.try_mail(raw.clone(), app.now()).await?;
            let mail = self.seen(raw, reading.facts.clone()).await?;
            Ok(TriedMail {
                outcome: outcome_word(reading.outcome),
                authenticity: reading.authenticity,
                facts: reading.facts,
                why: reading.why,
                live_outcome: live.outcome.as_str(),
                live_reasons: live.reasons,
                unsigned: live.unsigned,
                mail,
            })
        })
    }

    fn banks(&self) -> Vec<KnownBank> {
        let mut banks: Vec<KnownBank> = self.banks.list().iter().map(known).collect();
        banks.sort_by_key(|bank| bank.name.to_lowercase());
        banks
    }

    fn bank_name(&self, code: &str) -> String {
        self.banks.by_code(code).map_or_else(|| code.to_owned(), |bank| bank.name.clone())
    }

    fn given_bank(&self, text: &str) -> GivenBank {
        given_bank(self.banks.by_name_or_alias(text), text)
    }

    fn write(&self, told: &SimulatedMail<'_>) -> Option<Vec<u8>> {
        let &SimulatedMail { bank, account, holder, amount, payer, remark, at, unique } = told;
        write(self.banks.by_code(bank)?, &Told { account, holder, amount, payer, remark, at, unique })
    }

    fn take_simulated<'a>(
        &'a self,
        app: &'a App,
        raw: Vec<u8>,
        simulated: Simulated,
    ) -> MailAnswer<'a, AlertOutcome> {
        Box::pin(async move {
            let origin = Origin::Simulated(Box::new(simulated));
            let arrival = Arrival { raw, source: "test mode".into(), origin, in_mailbox: None };
            Ok(ingest(app, self, arrival).await?.outcome)
        })
    }
}

impl MailIngestor {
    async fn seen(&self, raw: Vec<u8>, facts: AlertFacts) -> Result<MailSeen, OpError> {
        let banks = self.banks.clone();
        let seen = self.threads.run(move || marked(&raw, &banks, &facts)).await;
        Ok(match seen {
            Some(Ok(mail)) => MailSeen::Shown(mail),
            Some(Err(why)) => MailSeen::Unreadable(why),
            None => MailSeen::Unreadable("the mail reader failed".into()),
        })
    }
}

fn known(bank: &crate::alert_reader::Bank) -> KnownBank {
    KnownBank {
        code: bank.code.clone(),
        name: bank.name.clone(),
        aliases: bank.aliases.clone(),
        senders: bank.senders.clone(),
        dkim_domains: bank.dkim_domains.clone(),
        layouts: bank.layout_names.clone(),
        is_masked: bank.mask.is_some(),
    }
}
