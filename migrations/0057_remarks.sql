-- What a payer may have typed beside the narration, and whether the narration fills its field, so that its end is missing.
alter table alerts add column remarks text;
alter table alerts add column is_narration_cut bigint not null default 0;
