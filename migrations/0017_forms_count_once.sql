-- A form of the confirm page counts once. The key is made from what the form carried, and says nothing of it.
alter table pin_tries add column form_key bytea;
create unique index pin_tries_form on pin_tries (intent_id, form_key);

-- The form that asked for the code.
alter table pin_codes add column form_key bytea;
-- The PIN that the code set has lifted a lock: 1.
alter table pin_codes add column unlocked bigint;
create unique index pin_codes_form on pin_codes (intent_id, form_key);

-- The forms by which a code was tried; their number is the code's own.
create table code_tries (
    code_id bigint not null references pin_codes (id),
    form_key bytea not null,
    tried_at bigint not null,
    primary key (code_id, form_key)
);
