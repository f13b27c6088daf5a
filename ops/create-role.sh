#!/bin/sh
# Creates the role and the database of the service when the container of PostgreSQL is started for the first time. The role is
# not a superuser.
set -eu
psql --username="${POSTGRES_USER:-postgres}" --dbname=postgres --set=ON_ERROR_STOP=1 --set=password="$TABLEWRIGHT_PASSWORD" <<'SQL'
CREATE ROLE tablewright LOGIN PASSWORD :'password';
CREATE DATABASE tablewright OWNER tablewright;
SQL
