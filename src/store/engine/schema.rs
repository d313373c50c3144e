//! The migrations: one SQL text for both engines, and the tables that they make.
//!
//! A text uses only BIGINT, TEXT and BYTEA. For SQLite the words are replaced by its own and every
//! table becomes STRICT; one that ends in `);--! by_key` lives in the tree of its key. A line
//! `--! append_only TABLE` puts triggers on a table that refuse update and delete; `--! attempts_of_open_jobs_stay`
//! changes those of one table (`guards.rs`). Lines of `of_postgres_alone` say nothing to SQLite. A generated column
//! (`stored`) is computed by SQLite when it is read. PostgreSQL keeps every text `collate "C"`, as SQLite
//! does, and `--! texts_by_bytes` brings the columns of before that to it. After each migration it gets a
//! schema `people` of plain views, one per table (`people.rs`).

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::guards::{append_only, attempts_of_open_jobs_stay, events_are_reduced_once};
use super::parted;
use super::sql::Dialect;

pub(in crate::store) struct Migration {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! migrations {
    ($($name:literal),+ $(,)?) => {
        &[$(Migration {
            name: $name,
            text: include_str!(concat!("../../../migrations/", $name, ".sql")),
        }),+]
    };
}

/// The first first.
pub(in crate::store) const MIGRATIONS: &[Migration] = migrations![
    "0001_first",
    "0002_name_marks",
    "0003_mailboxes",
    "0004_alert_proofs",
    "0006_wallets",
    "0007_texts_by_bytes",
    "0008_counted_once",
    "0009_payment_names",
    "0010_one_index_each",
    "0011_payments_found",
    "0012_newest_first",
    "0013_told_as_it_is",
    "0014_alerts_without_session",
    "0015_activity",
    "0016_undone_by",
    "0017_forms_count_once",
    "0018_open_alarms",
    "0019_retention",
    "0020_counter_rows",
    "0021_wrong_pins_told",
    "0022_reversed_found",
    "0023_whose_acts_and_same_mails",
    "0024_forwarded_and_paid",
    "0025_alarms",
    "0026_name_stems",
    "0027_told_as_lost",
    "0028_topups_told",
    "0029_asked_before",
    "0030_long_names",
    "0031_people",
    "0032_lists_for_pages",
    "0033_figures",
    "0034_believed_words",
    "0035_notices",
    "0036_desk",
    "0037_rights_and_addresses",
    "0038_statement",
    "0039_alarms_found",
    "0040_registrations",
    "0041_names_in_texts",
    "0042_passkeys",
    "0043_payouts",
    "0044_arrivals",
    "0045_checkout_links",
    "0046_till",
    "0047_forms_and_attempts",
    "0048_events",
    "0049_chosen_events",
    "0050_sent_again",
    "0051_test_mode",
    "0052_wallet_payments",
    "0053_test_wallets",
    "0054_holds",
    "0055_payer_key",
    "0056_data_keys",
    "0057_remarks",
    "0058_reduced_events",
    "0059_bounds_of_first_parts",
    "0060_first_parts_checked",
    "0061_large_tables_in_parts",
    "0062_names_cut",
];

impl Migration {
    pub fn checksum(&self) -> String {
        Sha256::digest(self.text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The text in the engine's own words.
    pub fn render(&self, dialect: Dialect) -> String {
        let mut out = String::with_capacity(self.text.len() + 1024);
        for line in self.text.lines() {
            if let Some(table) = line.strip_prefix("--! append_only ") {
                out.push_str(&append_only(table.trim(), dialect));
            } else if line == "--! attempts_of_open_jobs_stay" {
                out.push_str(&attempts_of_open_jobs_stay(dialect));
            } else if line == "--! events_are_reduced_once" {
                out.push_str(&events_are_reduced_once(dialect));
            } else if let Some(made) = of_postgres_alone(line) {
                if dialect == Dialect::Postgres {
                    out.push_str(&made());
                }
            } else if line.starts_with("--") {
                continue;
            } else if dialect == Dialect::Sqlite {
                let line = line.replace("bigint", "integer").replace("bytea", "blob");
                out.push_str(match line.as_str() {
                    ");" => ") strict;",
                    // Rows live in their key's own tree, where they would be found anyway.
                    ");--! by_key" => ") strict, without rowid;",
                    line => line,
                });
                if line.ends_with(") stored;") {
                    // It adds no other kind to a table that is there.
                    out.truncate(out.len() - "stored;".len());
                    out.push_str("virtual;");
                }
            } else {
                out.push_str(&by_bytes(line));
            }
            out.push('\n');
        }
        out
    }
}

/// What a line means that says nothing to SQLite.
fn of_postgres_alone(line: &str) -> Option<fn() -> String> {
    Some(match line {
        "--! texts_by_bytes" => || TEXTS_BY_BYTES.replace("{tables}", &tables().join(",")),
        "--! bound_first_parts" => parted::bound_first_parts,
        "--! check_first_parts" => parted::check_first_parts,
        "--! make_first_parts" => parted::make_first_parts,
        _ => return None,
    })
}

/// The line with a text column kept in the order of its bytes, whatever the server's locale: an order that
/// depends on it would make ranges mean something else, and an operating system that comes to sort otherwise
/// would spoil the unique indexes.
fn by_bytes(line: &str) -> String {
    let column =
        line.strip_prefix("    ").or_else(|| line.split_once(" add column ").map(|(_, column)| column));
    let Some((_, kind)) = column.and_then(|column| column.split_once(' ')) else { return line.to_owned() };
    match kind.strip_prefix("text") {
        Some(rest) if rest.is_empty() || rest.starts_with([' ', ',', ';']) => {
            let head = &line[..line.len() - rest.len()];
            format!("{head} collate \"C\"{rest}")
        }
        _ => line.to_owned(),
    }
}

/// The same for columns that are there already. Their indexes are built anew, the rows stay as they are.
const TEXTS_BY_BYTES: &str = r#"
do $$
declare
    t record;
begin
    for t in select c.relname, string_agg(format('alter column %I type text collate "C"', a.attname), ', ') as changes
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
               join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
              where n.nspname = current_schema() and c.relkind = 'r'
                and c.relname::text = any(string_to_array('{tables}', ','))
                and a.atttypid = 'text'::regtype and a.attcollation <> '"C"'::regcollation
              group by c.relname order by c.relname loop
        execute format('alter table %I ', t.relname) || t.changes;
    end loop;
end $$;
"#;

/// Tables in the order in which the migrations make them, those that are no more included.
pub(in crate::store) fn tables() -> &'static [&'static str] {
    static TABLES: OnceLock<Vec<&'static str>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let lines = MIGRATIONS.iter().flat_map(|migration| migration.text.lines());
        let made = lines.filter_map(|line| line.strip_prefix("create table ")?.split(' ').next());
        let mut tables = Vec::new();
        for table in made.chain(["schema_migrations"]) {
            // One that was made anew keeps its place.
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        tables
    })
}

/// Place of a table in the order in which the migrations make them, in which a table can only name
/// earlier ones as its parents. Unknown tables come last.
pub(in crate::store) fn table_rank(table: &str) -> usize {
    tables().iter().position(|name| *name == table).unwrap_or(tables().len())
}

/// Names of all migrations, the first first.
pub(in crate::store) fn names() -> impl Iterator<Item = &'static str> {
    MIGRATIONS.iter().map(|migration| migration.name)
}

#[cfg(test)]
mod tests {
    use super::MIGRATIONS;

    /// SHA-256 of every migration, as databases note it. Add the line together with the file. Once the migration is
    /// released, never change it: migrations/README.md.
    const FROZEN: &[(&str, &str)] = &[
        ("0001_first", "f8b6f9aa27063ca0f716d9d96df8eee27e8afd05be6621bed28843c477b7af50"),
        ("0002_name_marks", "e67ddafbbc7fe211281c579dc4e250989527e185fa60871800aba48c18fa1766"),
        ("0003_mailboxes", "b4bbbe376cd794e88afff997edf6e27fcb67d27c2b941ff3aa8f72a4bcf51c0e"),
        ("0004_alert_proofs", "17542bd312c826ae6c0c5e73f5b9fb9937d0d9974f0968c741d30fff333e5196"),
        ("0006_wallets", "27933af8fc0686f672ecf087d58fbef687a0e2993326cd89f45fb8e0e1c20f04"),
        ("0007_texts_by_bytes", "d2fe2f5861e300e0c7bcb64777df4da1b5c1f7bc12af06b789bcfb0d5e5c01b5"),
        ("0008_counted_once", "3685b45ce4f36cc1bba2d353ba093adb79f804d8245765e759afdb5ee0eae65a"),
        ("0009_payment_names", "6d39d16c1cec9c4623c0a498f8eb2984001e7b085657e3e86b27bb77e64921a3"),
        ("0010_one_index_each", "cecf1dba6b117e94624900b80c7b2a6224ea87ee4d0cacfa8f5ee3f41394716b"),
        ("0011_payments_found", "27648443d58a20a09930b3b9e22a4129251c44f53d279cff775e618a006f3b90"),
        ("0012_newest_first", "c27dfd35a74568cf8cf41783cf1b6b74ada9c83db1b25880d3bbe5fabc9aa5a8"),
        ("0013_told_as_it_is", "8339c18e3e77f1d9533798318c176000c9e6f36faaf352c54344df16c6a39cc9"),
        ("0014_alerts_without_session", "6a036e7fe09dad787e7328c5294cac1991b5db3e0e093956e7387680a150c514"),
        ("0015_activity", "0d8d5de76d1ac29f51c3f2d3ac839f4914c702065d633daae0ecf7276208630d"),
        ("0016_undone_by", "75afd64c3de7b1bbf7c26445190ee4d62f17a0fed3f89ff8390d1ab99919a965"),
        ("0017_forms_count_once", "7b701e4f9649a77c9cf9b6c3c9bc76b0f03963b200ce8b7a3750d74b8d2e488a"),
        ("0018_open_alarms", "39af9a5113bfa4dadcd5999e4c0bc1da5bb3118c7ce4d376959552d3a607242b"),
        ("0019_retention", "86560e4168971695ee6a5d4c5791d74bd4d6009c8983d54868c46a4bf16d6b57"),
        ("0020_counter_rows", "b10b38e3905cc73eca167dfc6567138335ee357673337462ee9cc7f8e6d2ac75"),
        ("0021_wrong_pins_told", "9de16138a06435cbe6bd444f66c04bf49d4c5884ef117be0c93c76673298fb11"),
        ("0022_reversed_found", "a5ecf6f8172b80ef7f611d3cd26cc0a49be5a1e1568899e03e1894d528bc17e9"),
        (
            "0023_whose_acts_and_same_mails",
            "f6ddf55381698ec035ff9207386e401ba8fd1b1041d1cee97a5b38cd2962fe40",
        ),
        ("0024_forwarded_and_paid", "f75b42492f3524097f3289263a7481ea5d731ba2b896ccf24ff63a7fef7be23c"),
        ("0025_alarms", "cf6262ef1bd476d2587164814818351b3841d8aa9b156bf48f094789288baf30"),
        ("0026_name_stems", "238397f4a8ab480f238012aa695b6fee2789c2d8b608d1bcaa7ebeb1ca4ba391"),
        ("0027_told_as_lost", "e9aee321632fd3a1b8f51436b22a202704ef1052e284de209777b8d971362085"),
        ("0028_topups_told", "83b0c76e6bce8fd92214ad5ced4d6c11134f341d724c768dc9f1bda4db8c2815"),
        ("0029_asked_before", "bd87ff3b4c315acb1ad86c85511cd765a5530c793ae9322ec72608fa0ae04511"),
        ("0030_long_names", "9ee97ca088fc45fe334a6019bb525173943ca2e1de30361aa19259c16cfd08d2"),
        ("0031_people", "a0cbe9c729073b0a6df70e899f1c3b1168e536c6b97e0365418cfa47cd301ed0"),
        ("0032_lists_for_pages", "75f30f680f2e487c0f8a9c1380826f5f17a3dad55f450970b70d8dcc310a4e8c"),
        ("0033_figures", "3887872413809515dda5612b4d97d5c2964fcb3cefb84a264472c538e2b911eb"),
        ("0034_believed_words", "57d1790471a501729ef9ca2a9c6664d331770d9d9d646c40ff37641458146467"),
        ("0035_notices", "f2612f092ddecbb58b033ec4ca23aa742c1d68bb27639acf7a98f510502fe01a"),
        ("0036_desk", "b8b6bad2333e301105e51bcfdf10a3bce05af1018839ad19200c8fac00fd17a2"),
        ("0037_rights_and_addresses", "378e53138a44566c1244c8ad7a308ee75e6936e851f6b0c458ffceea8c08ad60"),
        ("0038_statement", "dfeb0cbebc203a1283c5a69d82243f1227c5ae625f38537e3ed29df1ce36d060"),
        ("0039_alarms_found", "d048053ea3bd527491cfca8683f1b5bc1ed28938e766d9553c0c88bdf1964805"),
        ("0040_registrations", "d4ddf90de5e08295f0e198ef2bc69595a3b3d3f170cab86c7f43074a4b6a018e"),
        ("0041_names_in_texts", "8ab55724bd813c3d57ad1f5f99e7c9d861b3cbda8a0e7017a75f0fa0e49f526a"),
        ("0042_passkeys", "ea7aa2bba2847c497a8f38c70f3c74a9b07f6a4571ff3823a2fc4032ac7882c6"),
        ("0043_payouts", "c96993f54ff6bda958c3c68bb147475c513e9cde20f6403633601e5a921b9747"),
        ("0044_arrivals", "efe1904cbf95a21cabf08d115d0bfc6baba75b8268f4f0ac9618fb9f55790d13"),
        ("0045_checkout_links", "d411b52c624e8a1c2dbb0feab3c7f2fe89fe36c4d2affc3729f182be1204d596"),
        ("0046_till", "1074a25edb7f5edb1940510eaa4b03b2d02fa2f40ce67940619b85ea3c274c18"),
        ("0047_forms_and_attempts", "d0750a635bc91bb9e12cfdac83a627b7037f0ed8ff53b9b7b16ea2264e7313c0"),
        ("0048_events", "dd79ed65571ade43fd7f20521dddff45ab04c00f46ef88dfe56335fe2b81f4ca"),
        ("0049_chosen_events", "4a5fd42f1ad1120158acf0ff9699af7dc31bb1387ff5389c9b83a1eac135467d"),
        ("0050_sent_again", "b6875915d4ffdd0e27eb5dca63ac1767de8af351310b4e9dacbb81f4c1696ab9"),
        ("0051_test_mode", "500a2a483c8f1962cc4a6e6a09d232720c517e4f22184f18a53dd0df224fc8e9"),
        ("0052_wallet_payments", "dc02e56c07671206fa9c1c0a4ff900d1fff63476f56462c287e565a1e8155d6c"),
        ("0053_test_wallets", "ffaaee4ce9cdfa5b68552490037f5ba396d19950809c1da99a5579476c9bb87e"),
        ("0054_holds", "e7af296e0db10744c803358869ca95ed919c4727f74b42e097c1c7da5ed7f416"),
        ("0055_payer_key", "f6d0f1d4301ca69259b4db3ddba53dce55ea700cc539661f850757970cbf6afb"),
        ("0056_data_keys", "095f118f68caec23970246310bb2da8c2a7304e836de22f42dccf2fa2f3f170b"),
        ("0057_remarks", "c9e0f29d61917f98dd3c1946c26ddb6a470c0cbc3ffb4b5ac3e26aca42377c8d"),
        ("0058_reduced_events", "fbbe2f7b89bbb7fd0c25c43a06f4e25615e7111f69164e8e908bd2b8fd72a022"),
        ("0059_bounds_of_first_parts", "02bf7a209f994c9d8e1d639ab2061330c3f4f2d37e42a18541ed8b089f238ce5"),
        ("0060_first_parts_checked", "7783723d4fb30913063feb53e4e75eba68e758f1844ef31f0bb1fb8747841b7d"),
        ("0061_large_tables_in_parts", "c3c89075ef4f6b2cd215b9c9838199d0baebd876d3d0398bd1b2896c74d241b2"),
        ("0062_names_cut", "274cde71c6d132f3bd3469aa912deaf4664e0923ec00bf662d1e40da7256e063"),
    ];

    #[test]
    fn released_migrations_stay_as_they_are() {
        for (name, hash) in FROZEN.iter().copied() {
            let migration = MIGRATIONS.iter().find(|migration| migration.name == name);
            let found = migration.map(super::Migration::checksum);
            assert_eq!(found.as_deref(), Some(hash), "{name} was released; make a new migration");
        }
    }

    #[test]
    fn every_file_is_run_in_the_order_of_its_number_and_is_frozen() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let mut files: Vec<String> =
            files.filter_map(|name| Some(name.to_str()?.strip_suffix(".sql")?.to_owned())).collect();
        files.sort();
        let run: Vec<&str> = MIGRATIONS.iter().map(|migration| migration.name).collect();
        assert_eq!(files, run);
        let frozen: Vec<&str> = FROZEN.iter().map(|(name, _)| *name).collect();
        assert_eq!(run, frozen, "a migration without its hash in FROZEN");
        let numbers = run.iter().map(|name| name[..4].parse::<usize>().unwrap());
        let missing = |number: &usize| !run.iter().any(|name| name.starts_with(&format!("{number:04}_")));
        let gaps: Vec<usize> = (1..=numbers.max().unwrap()).filter(missing).collect();
        assert_eq!(gaps, [5], "migrations/README.md says why");
    }
}
