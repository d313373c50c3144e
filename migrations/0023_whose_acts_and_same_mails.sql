-- Whose business an act was about; of acts of before it is not known. And the digest of a mail's bytes, by which the
-- same mail is known again; mails of before have none.
alter table operator_acts add column business_id bigint;
create index operator_acts_of_business on operator_acts (business_id, acted_at, id) where business_id is not null;
alter table mails add column digest bytea;
create index mails_by_digest on mails (digest, alert_id) where digest is not null;
