/** Saved settings for a file that comes again: saving, using and deleting them. */
import type { ListedProfile, Load } from '../../client/client.ts';
import { firstReading, readingQuery } from '../derived/file.ts';
import { choicesOfProfile, fittingSettings, profileOf } from '../derived/profiles.ts';
import { hashOf } from '../derived/routes.ts';
import { targetOf } from '../derived/target.ts';
import type { Settings } from '../state.ts';
import { readProfiles, showStep } from './columns.ts';
import { inspect, openFile } from './file.ts';
import type { Page } from './page.ts';

export function openProfile(page: Page): void {
  const name = page.state.target.table;
  page.set({ dialog: { is: 'profile', name, isShared: false }, savedProfile: { is: 'none' } });
}

export async function saveProfile(page: Page, name: string, isShared: boolean): Promise<void> {
  const { schema } = page.state.target;
  const isSaved = await page.remote('savedProfile', async (signal) => {
    await page.client.saveProfile(name, profileOf(page.state), {
      signal,
      ...(isShared && { shared_with: schema }),
    });
    return true;
  });
  if (!isSaved) return;
  page.say(`The settings ${name} are saved.`);
  await readProfiles(page);
}

/** Applies the parameters and the definition of a profile to the page. A table that the user has chosen stays. */
export async function useProfile(
  page: Page,
  { name, shared_with: shared, is_own }: ListedProfile,
): Promise<void> {
  const where = is_own && shared === null ? {} : { shared_with: shared ?? undefined };
  await take(page, name, (signal) => page.client.profile(name, { signal, ...where }));
}

/** Applies the saved settings that fit a new file, once, and only if the user has not yet changed the target, a column or a rule for rows. */
export async function useFitting(page: Page): Promise<void> {
  const { mayUseProfile, step } = page.state;
  const fitting = mayUseProfile && step === 'columns' ? fittingSettings(page.state) : undefined;
  if (fitting === undefined) return;
  page.set({ mayUseProfile: false });
  if ('name' in fitting) await useProfile(page, fitting as ListedProfile);
  else await useSettings(page, fitting as Settings);
}

/** Applies the parameters of an earlier load to the page. */
export async function useSettings(page: Page, { parameters }: Settings): Promise<void> {
  await take(page, '', async () => ({ parameters, table: null }));
}

/** Reads the file again without the settings that the page has used. */
export function leaveProfile(page: Page): void {
  const { file, isTargetChosen, target } = page.state;
  if (file === undefined) return;
  const kept = isTargetChosen ? target : targetOf(file.name);
  openFile(page, file.content, { file, target: kept, isTargetChosen }, firstReading(file.kind));
}

async function take(
  page: Page,
  name: string,
  read: (signal: AbortSignal) => Promise<Parameters<typeof choicesOfProfile>[0]>,
): Promise<void> {
  await page.remote('usedProfile', async (signal) => {
    const choices = choicesOfProfile(await read(signal));
    if (Array.isArray(choices))
      throw new Error(
        `The page has no field for ${choices.join(', ')}. Use these settings with ?profile=${name}.`,
      );
    const { file, reading, isTargetChosen } = page.state;
    if (file === undefined) return name;
    const isReadAgain =
      JSON.stringify(readingQuery(choices.reading, file.kind)) !==
      JSON.stringify(readingQuery(reading, file.kind));
    if (isReadAgain && !(await inspect(page, choices.reading))) return name;
    const { schema, table } = page.state.target;
    page.set(({ target, columns }) => ({
      target: { ...target, ...choices.target, ...(isTargetChosen && { schema, table }) },
      rows: choices.rows,
      columns: choices.columns(columns),
      announcement:
        name === '' ? 'The settings of the last load are used.' : `The settings ${name} are used.`,
    }));
    showStep(page, 'columns');
    return name;
  });
}

/** Reads a file with the settings of an earlier load, for the same table. */
export async function loadAgain(
  page: Page,
  { table: { schema, name }, parameters }: Load,
  content: File,
): Promise<void> {
  const { dry_run: _, profile: __, ...kept } = (parameters ?? {}) as Record<string, string>;
  const choices = choicesOfProfile({ parameters: kept, table: null });
  if (Array.isArray(choices)) return page.say(`The page has no field for ${choices.join(', ')}.`);
  const target = { ...page.state.target, ...choices.target, schema, table: name };
  const reading = openFile(
    page,
    content,
    { target, rows: choices.rows, isTargetChosen: true },
    choices.reading,
  );
  location.assign(hashOf({ page: 'load' }));
  if (await reading) page.set(({ columns }) => ({ columns: choices.columns(columns) }));
}

export async function deleteProfile(page: Page, { name, shared_with: shared }: ListedProfile): Promise<void> {
  await page.client
    .deleteProfile(name, { ...(shared !== null && { shared_with: shared }) })
    .catch((error: unknown) => page.say(page.failureOf(error).detail));
  await readProfiles(page);
}
