/** The text for a person who has just started the service: everything that is needed to try it, ready to copy. */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { programFolder } from '../../program-files.ts';

export interface BannerFacts {
  /** The service's URL. */
  url: string;
  /** Whether the service has the console. */
  hasConsole: boolean;
  /** Whether the service has the secret with which tokens are signed, so that `npm run token` can make one. */
  hasSecret: boolean;
  /** undefined: the secrets are not shown, because the text goes to a log or a file. */
  secrets: Secrets | undefined;
}

export interface Secrets {
  /** The URL contains the password of the database. */
  databaseUrl: string;
  /** undefined: an identity provider issues the tokens. */
  token: string | undefined;
}

/**
 * Returns the text for a service with DATABASE_URL. It shows no token, because another service issues tokens.
 *
 * @param isWaiting the database cannot be reached yet
 */
export function bannerText(
  { url, hasConsole, hasSecret }: Omit<BannerFacts, 'secrets'>,
  { isWaiting }: { isWaiting: boolean },
): string {
  return `
${isWaiting ? 'Tablewright waits for its database. The log has the reason.' : 'Tablewright is up.'}

  Service        ${url}
  API reference  ${url}/docs${consoleLine(hasConsole, url, undefined)}

${hasSecret ? `${commands.token} prints an access token, under the same settings.` : providerToken}
`;
}

export function embeddedBannerText({ url, hasConsole, hasSecret, secrets }: BannerFacts): string {
  const path = `${url}/api/v1/table`;
  const authorization = '-H "Authorization: Bearer $TOKEN"';
  return `
Tablewright is up, on an embedded PostgreSQL whose data is kept.

  Service        ${url}
  API reference  ${url}/docs${consoleLine(hasConsole, url, secrets?.token)}
${secrets ? shown(secrets) : hidden(hasSecret)}

Create a table, load JSON rows, load a workbook:

  curl ${authorization} -H "Content-Type: application/json" --data-binary @${commands.examples}/definition.json ${path}/customers
  curl ${authorization} -H "Content-Type: application/json" --data-binary @${commands.examples}/rows.json ${path}/shipments/upload/json
  curl ${authorization} -F file=@${commands.examples}/orders.xlsx ${path}/orders/upload/excel

Ctrl-C stops both.
`;
}

/** Returns the line with the link to the console. The token is in the fragment of the link, because browsers never send the fragment. */
function consoleLine(hasConsole: boolean, url: string, token: string | undefined): string {
  if (!hasConsole) return '';
  return `\n  Console        ${url}/${token === undefined ? '' : `#token=${token}`}`;
}

const providerToken = 'Your identity provider issues the access tokens.';

function shown({ databaseUrl, token }: Secrets): string {
  const tokenText =
    token === undefined
      ? providerToken
      : `A token for development, valid for a day (${commands.token} prints others):\n\n  TOKEN=${token}`;
  return `  Database       psql "${databaseUrl}"\n\n${tokenText}`;
}

/** Returns the line that replaces the secrets. The database's password and a token are shown only on a terminal, because other output is often kept in a log. */
function hidden(hasSecret: boolean): string {
  const shownOn = `shown on a terminal, or with ${commands.secrets}.`;
  if (!hasSecret) return `\nThe password of the database is ${shownOn}\n${providerToken}`;
  return `
The password of the database and a token are ${shownOn} A token for
development, valid for an hour, under the same settings:

  TOKEN=$(${commands.token})`;
}

/** How the commands and the folder of examples are called: in a clone of the repository, in the installed package, or in the container image. */
const commands = import.meta.filename.endsWith('.ts')
  ? { token: 'npm run -s token', secrets: 'npm start -- --show-secrets', examples: 'examples' }
  : {
      token: existsSync(join(programFolder, 'token.js')) ? 'node token.js' : 'npx tablewright token',
      secrets: 'npx tablewright serve --show-secrets',
      examples: relative(process.cwd(), join(programFolder, 'examples')),
    };
