/** Changes the tables that are loaded together, if the page shows them. */
import type { Together } from '../state.ts';
import type { Page } from './page.ts';

export function changeTogether(
  { set }: Pick<Page, 'set'>,
  change: (together: Together) => Partial<Together>,
): void {
  set(({ together }) =>
    together.is === 'ready'
      ? { together: { ...together, value: { ...together.value, ...change(together.value) } } }
      : {},
  );
}
