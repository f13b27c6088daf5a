/** The text for a person who has just started the service: everything that is needed to try it, ready to copy. */
export interface BannerFacts {
  /** The service's URL. */
  url: string;
  /** undefined: the secrets are not shown, because the text goes to a log or a file. */
  secrets: Secrets | undefined;
}

export interface Secrets {
  /** The URL contains the password of the database. */
  databaseUrl: string;
  token: string;
}

/** Returns the text for a service with DATABASE_URL. It shows no token, because another service issues tokens; `npm run token` makes one for development. */
export function bannerText({ url }: Pick<BannerFacts, 'url'>): string {
  return `
Tablewright is up.

  Service        ${url}
  API reference  ${url}/docs

npm run -s token prints an access token, under the same settings.
`;
}

export function embeddedBannerText({ url, secrets }: BannerFacts): string {
  const path = `${url}/api/v1/table`;
  const authorization = '-H "Authorization: Bearer $TOKEN"';
  return `
Tablewright is up, on an embedded PostgreSQL whose data is kept.

  Service        ${url}
  API reference  ${url}/docs
${secrets ? shown(secrets) : hidden}

Create a table, load JSON rows, load a workbook:

  curl ${authorization} -H "Content-Type: application/json" --data-binary @examples/definition.json ${path}/customers
  curl ${authorization} -H "Content-Type: application/json" --data-binary @examples/rows.json ${path}/shipments/upload/json
  curl ${authorization} -F file=@examples/orders.xlsx ${path}/orders/upload/excel

Ctrl-C stops both.
`;
}

function shown({ databaseUrl, token }: Secrets): string {
  return `  Database       psql "${databaseUrl}"

A token for development, valid for a day (npm run -s token prints others):

  TOKEN=${token}`;
}

/** Only a terminal shows the database's password and a token: other output is often kept in a log. */
const hidden = `
The password of the database and a token are shown on a terminal, or with npm start -- --show-secrets. A token for
development, valid for an hour, under the same settings:

  TOKEN=$(npm run -s token)`;
