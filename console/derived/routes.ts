/** The pages and their addresses. */
import type { State } from '../state.ts';
import { linkedToken } from './session.ts';

/** Returns the fragment of the address for a page. */
export function hashOf(route: State['route']): string {
  switch (route.page) {
    case 'load':
      return '#/';
    case 'tables':
      return '#/tables';
    case 'table':
      return `#/tables/${encodeURIComponent(route.schema)}/${encodeURIComponent(route.name)}`;
    case 'change-table':
      return `${hashOf({ ...route, page: 'table' })}/columns`;
    case 'loads':
      return '#/loads';
    case 'one-load':
      return `#/loads/${route.id}`;
  }
}

/** Returns whether an address shows the page for loading a file. */
export function isLoadPage(hash: string): boolean {
  return linkedToken(hash) === undefined && routeOf(hash).page === 'load';
}

export function routeOf(hash: string): State['route'] {
  const [page, first, second, third] = hash.replace(/^#\/?/, '').split('/').map(decoded);
  if (page === 'tables' && first && second)
    return { page: third === 'columns' ? 'change-table' : 'table', schema: first, name: second };
  if (page === 'tables') return { page: 'tables' };
  if (page === 'loads' && first) return { page: 'one-load', id: first };
  return page === 'loads' ? { page: 'loads' } : { page: 'load' };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
