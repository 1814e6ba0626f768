-- The amount people see of a thread's runs, and how the models of a run did.

ALTER TABLE threads ADD COLUMN verbosity TEXT;
ALTER TABLE runs ADD COLUMN models TEXT;
