/** The check in the background: the page makes it as soon as nothing is missing, so that the first button may be Load. */
import { checksItself, isChecked } from '../derived/next-step.ts';
import { check, runCheck } from './check.ts';
import { showStep } from './columns.ts';
import type { Page } from './page.ts';

/** Checks the file in the background, if `checksItself` allows it. The target table must be known before. */
export async function checkAlone(page: Page): Promise<void> {
  await page.lookedUp;
  if (checksItself(page.state)) await runCheck(page);
}

/** Shows the check that was made in the background, or makes one. */
export async function showCheck(page: Page): Promise<void> {
  const { is } = page.state.check;
  if (isChecked(page.state) && (is === 'busy' || is === 'ready')) showStep(page, 'check');
  else await check(page);
}
