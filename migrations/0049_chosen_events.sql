-- Events that the business switched on beside those that are always sent: their names, with commas between them.
alter table businesses add column events text not null default '';
