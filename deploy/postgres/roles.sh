#!/bin/sh
# Run once by the Postgres image on an empty data folder: the two roles, the database, the extension.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" \
    --set owner_password="$OWNER_PASSWORD" --set service_password="$SERVICE_PASSWORD" <<'SQL'
CREATE ROLE contextkeep_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE contextkeep_service LOGIN PASSWORD :'service_password';
CREATE DATABASE contextkeep OWNER contextkeep_owner;
\connect contextkeep
CREATE EXTENSION vector;
SQL
