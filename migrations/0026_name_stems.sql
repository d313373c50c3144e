-- Names that no table knows are found by what is left of them without a usual first or last part as well. They get more
-- keys than before: a periodic task makes the rows of open payments anew.
update payments set name_keys = 0 where status = 'pending' and name_keys <> 0;
