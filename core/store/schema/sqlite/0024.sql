-- A placeholder: another branch's 0024 takes its place.
SELECT 1;
