-- Names of five words and more of which no table knows one are found by each of their words as well. A periodic task
-- makes the rows of open payments anew.
update payments set name_keys = 0 where status = 'pending' and name_keys <> 0 and payer_name like '% % % % %';
