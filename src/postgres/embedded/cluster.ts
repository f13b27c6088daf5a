/**
 * Makes a database cluster: `initdb`, our role and our database, under a name of its own, and then renamed. So a
 * cluster is whole or not there, wherever the process was killed.
 *
 * No server runs meanwhile: the passwords are set in PostgreSQL's single-user mode, so there is no moment in which
 * somebody could connect without one, and none stands on a command line.
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

/** Makes the cluster of a place. `durable` false: without waiting for the disk. Takes about 0.8 s. */
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
      // PostgreSQL's own C.UTF-8: the same order everywhere, whatever locales the machine has.
      ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      // Nobody connects before the file below takes its place.
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

/** One statement per line, as single-user mode reads them. */
function provisioning(passwords: Passwords): string {
  const lines = [
    `ALTER ROLE postgres PASSWORD ${quoteLiteral(passwords.postgres)}`,
    // CREATEROLE with SET on what it makes: tokens may name roles that the service's role has created.
    `CREATE ROLE tablewright LOGIN CREATEROLE PASSWORD ${quoteLiteral(passwords.tablewright)}`,
    `ALTER ROLE tablewright SET createrole_self_grant = 'set, inherit'`,
    `CREATE DATABASE tablewright OWNER tablewright`,
    // Every database's default is open to all roles.
    `REVOKE CONNECT ON DATABASE postgres FROM PUBLIC`,
  ];
  return `${lines.join('\n')}\n`;
}
