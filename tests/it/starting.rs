//! What `serve` says of its settings at the start: what it refuses, and what it warns of.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use crate::crashes::Installation;
use crate::harness::databases::Engine;

const SMTP_LISTEN: &str = "TILLBELL_MAIL__SMTP__LISTEN";

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The warnings of a service until it listens.
fn warnings(here: &Installation, environment: &[(&str, &str)], expected: &[&str]) -> Vec<String> {
    let mut command = here.command(&["serve"]);
    command.envs(environment.iter().copied());
    let mut child = Ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut stdout = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let ready = stdout.next().unwrap().unwrap();
    assert!(ready.starts_with("listening on "), "{ready}");
    // A door may speak a moment after that line; what was said before it ends with the process.
    let mut lines = BufReader::new(child.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut said: Vec<String> = Vec::new();
    while !expected.iter().all(|words| said.iter().any(|line| line.contains(words))) {
        match lines.next() {
            Some(line) => said.push(line),
            None => break,
        }
    }
    child.0.kill().unwrap();
    said.extend(lines);
    said.retain(|line| line.contains("WARN"));
    said
}

const WIDE_OPEN: [&str; 3] = [
    "server.operator_listen = 0.0.0.0:0",
    "webhooks.allow_networks contains 0.0.0.0/0",
    "mail.smtp.allow_networks contains ::/0",
];

on_both! {
    async fn a_mail_listener_needs_to_know_whose_mails_it_takes(db: TestDatabase) {
        let here = Installation::new(db).await;
        for listen in ["127.0.0.1:0", "unix:/tmp/tillbell-never.sock"] {
            let mut command = here.command(&["serve"]);
            let output = command.env("TILLBELL_SERVER__DEV", "false").env(SMTP_LISTEN, listen).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
            assert!(said.contains("mail.smtp") && said.contains("set mail.recipients"), "{said}");
        }
        // In development mode it is said and no more; so it is of a mailbox.
        let said = warnings(&here, &[(SMTP_LISTEN, "127.0.0.1:0")], &["mail.recipients is not set"]);
        assert!(said.iter().any(|line| line.contains("mail.recipients is not set")), "{said:?}");
        let mailbox = "[{host = \"localhost\", port = 1, tls = \"none\", user = \"a\", password = \"b\"}]";
        let said = warnings(
            &here,
            &[("TILLBELL_MAIL__IMAP", mailbox), ("TILLBELL_SERVER__DEV", "false")],
            &["mail.recipients is not set"],
        );
        assert!(said.iter().any(|line| line.contains("mail.recipients is not set")), "{said:?}");
    }

    async fn a_second_service_on_one_file_is_refused_and_named_the_first(db: TestDatabase) {
        let here = Installation::new(db).await;
        let first = here.serve();
        let second = here.command(&["serve"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut second = Ended(second);
        let mut lines = BufReader::new(second.0.stdout.take().unwrap()).lines();
        if here.database.engine() == Engine::Postgres {
            assert!(lines.next().unwrap().unwrap().starts_with("listening on "), "PostgreSQL has many nodes");
            return;
        }
        assert!(lines.next().is_none());
        let mut said = String::new();
        second.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(second.0.wait().unwrap().code(), Some(1), "{said}");
        let told = format!("test.db (process {}", first.id());
        assert!(said.contains("another tillbell serve already runs on the database") && said.contains(&told), "{said}");
        // Commands are not kept out, and the lock ends with the process.
        here.audit();
        drop(first);
        drop(here.serve());
    }

    async fn tls_files_that_cannot_be_used_are_told_by_what_is_wrong_with_them(db: TestDatabase) {
        let here = Installation::new(db).await;
        let path = |name: &str| here.folder.path().join(name).to_str().unwrap().to_owned();
        for name in ["one", "two"] {
            let made = rcgen::generate_simple_self_signed(vec!["till.example".to_owned()]).unwrap();
            std::fs::write(path(&format!("{name}.cert")), made.cert.pem()).unwrap();
            std::fs::write(path(&format!("{name}.key")), made.signing_key.serialize_pem()).unwrap();
        }
        for (cert, key, words) in [
            ("none.cert", "one.key", "the TLS certificate file"),
            ("one.cert", "none.key", "No such file"),
            ("one.key", "one.key", "it contains no certificate"),
            ("one.cert", "one.cert", "it contains no unencrypted private key"),
            ("one.cert", "two.key", "does not belong to the certificate"),
        ] {
            let mut command = here.command(&["serve"]);
            command.env("TILLBELL_SERVER__TLS_CERT", path(cert)).env("TILLBELL_SERVER__TLS_KEY", path(key));
            let output = command.output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            let last = said.lines().last().unwrap();
            assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
            assert!(last.contains(words) && last.contains(&path(key)) | last.contains(&path(cert)), "{last}");
            assert_eq!(last.matches("KeyMismatch").count(), 0, "{last}");
        }
    }

    async fn doors_that_stand_wide_open_are_warned_of(db: TestDatabase) {
        let here = Installation::new(db).await;
        let said = warnings(&here, &[
            ("TILLBELL_SERVER__OPERATOR_LISTEN", "127.0.0.1:0"),
            ("TILLBELL_WEBHOOKS__ALLOW_NETWORKS", "[\"10.0.0.0/8\"]"),
        ], &[]);
        assert!(!said.iter().any(|line| line.contains("operator_listen") || line.contains("allow_networks")), "{said:?}");
        let said = warnings(&here, &[
            ("TILLBELL_SERVER__OPERATOR_LISTEN", "0.0.0.0:0"),
            ("TILLBELL_WEBHOOKS__ALLOW_NETWORKS", "[\"0.0.0.0/0\"]"),
            ("TILLBELL_MAIL__RECIPIENTS", "alerts@till.example"),
            ("TILLBELL_MAIL__SMTP__ALLOW_NETWORKS", "[\"::/0\"]"),
            (SMTP_LISTEN, "127.0.0.1:0"),
        ], &WIDE_OPEN);
        for expected in WIDE_OPEN {
            assert!(said.iter().any(|line| line.contains(expected)), "{expected}: {said:?}");
        }
    }

    async fn files_of_secrets_that_others_can_read_are_warned_of(db: TestDatabase) {
        use std::os::unix::fs::PermissionsExt;
        let here = Installation::new(db).await;
        let pass = here.folder.path().join("pass").to_str().unwrap().to_owned();
        std::fs::write(&pass, "s3cret").unwrap();
        let mailbox =
            format!("[{{host = \"localhost\", port = 1, tls = \"none\", user = \"a\", password_file = \"{pass}\"}}]");
        for (mode, is_told) in [(0o600, false), (0o644, true)] {
            std::fs::set_permissions(&pass, std::fs::Permissions::from_mode(mode)).unwrap();
            let words = format!("run chmod 600 {pass}");
            let expected: &[&str] = if is_told { &[&words] } else { &[] };
            let said = warnings(&here, &[("TILLBELL_MAIL__IMAP", &mailbox)], expected);
            assert_eq!(said.iter().any(|line| line.contains(&words)), is_told, "{mode:o}: {said:?}");
            assert!(!said.iter().any(|line| line.contains("s3cret")), "{said:?}");
        }
    }
}
