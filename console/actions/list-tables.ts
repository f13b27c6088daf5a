/** Lists the tables of the database for pages, dialogs and steps. */
import type { ListedTable } from '../../client/client.ts';
import type { Page } from './page.ts';
import { firstOf } from './requests.ts';

const maxTables = 10_000;

/** Lists the tables that the token may see. The page shows at most 10,000. */
export function listTables({ client }: Page): Promise<ListedTable[]> {
  return firstOf(client.tables({ limit: 1000 }), maxTables);
}
