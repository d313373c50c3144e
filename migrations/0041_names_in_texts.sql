-- A text that is too long to be a name is found by known names further back in it as well. A periodic task makes the rows
-- of open payments anew.
update payments set name_keys = 0 where status = 'pending' and name_keys <> 0
    and (length(payer_name) > 120 or payer_name like '% % % % % % % % % % %');
-- The staff, of whom there are few among many members.
create index users_staff on users (id) where staff_role is not null;
