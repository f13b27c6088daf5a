/**
 * Creates a database cluster with the role and the database of the service. The cluster has a temporary name until it is complete,
 * so an incomplete cluster is never used, even if the process was killed.
 *
 * No server runs meanwhile. The passwords are set in PostgreSQL's single-user mode, so nobody can ever connect without a password,
 * and no password is visible in a command line.
 */

import { chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quoteLiteral } from '../sql.ts';
import { programPath } from './binaries.ts';
import type { Place } from './place.ts';
import { runProgram } from './run-program.ts';

export interface Passwords {
  postgres: string;
  tablewright: string;
}

/** Creates the cluster of a place, which takes about 0.8 s. @param durable false: the files are not flushed to the disk */
export async function createCluster(place: Place, passwords: Passwords, durable: boolean): Promise<void> {
  const { binaries, cluster, user } = place;
  const draft = `${cluster}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  if (user !== undefined) await chown(draft, user.uid, user.gid);

  await runProgram(
    programPath(binaries, 'initdb'),
    [
      ...['-D', draft, '--username=postgres', '--encoding=UTF8', '--data-checksums', '--no-instructions'],
      // C.UTF-8 is built into PostgreSQL, so the order of texts does not depend on the locales of the machine.
      ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      // Nobody can connect before the file below replaces this rule.
      ...['--auth=reject', ...(durable ? [] : ['--no-sync'])],
    ],
    { user, cwd: draft },
  );

  const hostRules = join(draft, 'pg_hba.conf');
  await writeFile(hostRules, 'host all all 127.0.0.1/32 scram-sha-256\n');

  await runProgram(
    programPath(binaries, 'postgres'),
    ['--single', '-D', draft, '-c', 'exit_on_error=on', '-c', `fsync=${durable ? 'on' : 'off'}`, 'postgres'],
    { user, cwd: draft, input: provisioning(passwords) },
  );
  await rename(draft, cluster);
}

/** Returns the SQL with one statement on each line, as single-user mode requires it. */
function provisioning(passwords: Passwords): string {
  const lines = [
    `ALTER ROLE postgres PASSWORD ${quoteLiteral(passwords.postgres)}`,
    // The role of the service may create roles and switch to them with SET ROLE, because tokens may name these roles.
    `CREATE ROLE tablewright LOGIN CREATEROLE PASSWORD ${quoteLiteral(passwords.tablewright)}`,
    `ALTER ROLE tablewright SET createrole_self_grant = 'set, inherit'`,
    `CREATE DATABASE tablewright OWNER tablewright`,
    // By default all roles may connect to every database.
    `REVOKE CONNECT ON DATABASE postgres FROM PUBLIC`,
  ];
  return `${lines.join('\n')}\n`;
}
