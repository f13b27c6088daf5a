/** Saved settings for a file that comes again. */
import type { VNode } from 'preact';
import type { ListedProfile } from '../../client/client.ts';
import type { Actions } from '../actions/create-actions.ts';
import { alikeTable } from '../derived/homes.ts';
import { fitsHeader, listedProfiles, offeredSettings } from '../derived/profiles.ts';
import { h } from '../h.ts';
import type { Inspection } from '../inspection.ts';
import { defaultOf } from '../parameters.ts';
import type { Dialog, Settings, State } from '../state.ts';
import { busy, button, type Child, checkbox, data, failureBox, field, textInput } from './parts.ts';

/** The button that opens the dialog for saving. */
export function saveButton({ file, session }: State, actions: Actions): VNode | false {
  const maySave = file !== undefined && session.scopes.includes('profile:manage');
  return maySave && button('Save these settings', actions.openProfile, { kind: 'quiet' });
}

export function profileFields(
  state: State,
  { name, isShared }: Extract<Dialog, { is: 'profile' }>,
  actions: Actions,
): Child {
  const { savedProfile, target } = state;
  const change = (to: { name?: string; isShared?: boolean }): void =>
    actions.showDialog({ is: 'profile', name, isShared, ...to });
  if (savedProfile.is === 'ready') {
    return h('p', { class: 'notice good', role: 'status' }, [
      'The settings are saved as ',
      data(name),
      '. The page uses them when a file with the same header comes.',
    ]);
  }
  const shared = isShared ? target.schema : null;
  const isThere = listedProfiles(state).some(
    (one) => one.name === name && one.shared_with === shared && one.is_own,
  );
  return h('div', { class: 'stack' }, [
    h('p', null, [
      'Saved are the names and types of the columns, how values are read, and what happens to existing, missing and wrong rows. The file and its rows are not saved.',
    ]),
    field(
      'Name',
      textInput(name, (to) => change({ name: to }), { name: 'profile' }),
      isThere ? 'This replaces the settings with this name' : '\u00a0',
    ),
    checkbox(
      ['Share with everyone who may use the schema ', data(target.schema)],
      isShared,
      (to) => change({ isShared: to }),
      { name: 'shared' },
    ),
    savedProfile.is === 'busy' && busy('The settings are being saved.'),
    savedProfile.is === 'failed' && failureBox(savedProfile.failure),
    h('div', { class: 'action-bar' }, [
      button('Save', () => actions.saveProfile(name, isShared), {
        kind: 'main',
        id: 'save-profile',
        disabled: name.trim() === '' || savedProfile.is === 'busy',
      }),
    ]),
  ]);
}

/** The saved settings that fit the file, and a list of all. */
export function profileOffer(state: State, { header }: Inspection, actions: Actions): Child {
  const { usedProfile } = state;
  const profiles = listedProfiles(state);
  const offered = offeredSettings(state);
  const alike = offered ? undefined : alikeTable(state);
  if (alike === undefined && profiles.length === 0 && usedProfile.is === 'none' && offered === undefined)
    return null;
  const fitting = profiles.filter((profile) => fitsHeader(profile, header));
  return h('div', { class: 'profiles' }, [
    usedProfile.is === 'failed' && failureBox(usedProfile.failure),
    usedProfile.is === 'ready'
      ? usedSettings(state, usedProfile.value, actions)
      : fitting.length > 0
        ? h('div', { class: 'notice good' }, [
            h('p', null, 'Settings were saved for a file with the same header.'),
            h('div', { class: 'notice-actions' }, [
              fitting.map((profile) =>
                button(['Use the settings “', data(profile.name), '”', sharedWords(profile)], () =>
                  actions.useProfile(profile),
                ),
              ),
            ]),
          ])
        : offered !== undefined
          ? settingsOffer(offered, actions)
          : alike !== undefined && alikeOffer(state.target.schema, alike, actions),
    profiles.length > 0 &&
      h('details', { class: 'more' }, [
        h('summary', null, `Saved settings (${profiles.length})`),
        h('ul', null, [profiles.map((profile) => h('li', null, profileLine(profile, actions)))]),
      ]),
  ]);
}

/** Says what the page has chosen by itself. That the rows go into a table that has rows already must be seen. */
function usedSettings({ target, existing }: State, name: string, actions: Actions): VNode {
  const exists = existing.is === 'ready' && existing.value !== null;
  return h('div', { class: `notice ${exists ? 'warn' : 'good'}`, role: 'status' }, [
    h('p', { class: 'notice-title' }, [
      exists ? 'The rows go into the existing table ' : 'The rows go into ',
      h('code', null, data(`${target.schema}.${target.table}`)),
    ]),
    h('p', null, [
      name === ''
        ? 'The settings of the last load of a file with this header are used.'
        : ['The settings ', data(name), ' are used.'],
    ]),
    h('div', { class: 'notice-actions' }, [
      button('Do not use these settings', actions.leaveProfile, {
        'aria-label': 'Undo: do not use these settings',
      }),
    ]),
  ]);
}

function settingsOffer(settings: Settings, actions: Actions): VNode {
  const { table = '', schema = defaultOf('schema') } = settings.parameters;
  return h('div', { class: 'notice good' }, [
    h('p', null, 'A file with the same header was loaded before.'),
    h('div', { class: 'notice-actions' }, [
      button(['Add these rows to ', data(`${schema}.${table}`)], () => actions.useSettings(settings)),
    ]),
  ]);
}

function alikeOffer(schema: string, table: string, actions: Actions): VNode {
  const name = `${schema}.${table}`;
  return h('div', { class: 'notice good' }, [
    h('p', null, ['The existing table ', data(name), ' has the columns of this file.']),
    h('div', { class: 'notice-actions' }, [
      button(['Add these rows to ', data(name)], () => actions.changeTarget({ table, ifExists: 'append' })),
    ]),
  ]);
}

function profileLine(profile: ListedProfile, actions: Actions): Child {
  const { name } = profile;
  return [
    data(name),
    sharedWords(profile),
    ' ',
    button('Use', () => actions.useProfile(profile), { kind: 'quiet', 'aria-label': `Use ${name}` }),
    profile.is_own &&
      button('Delete', () => actions.deleteProfile(profile), {
        kind: 'quiet',
        'aria-label': `Delete ${name}`,
      }),
  ];
}

function sharedWords({ shared_with: schema }: ListedProfile): Child {
  return schema !== null && [' of the schema ', data(schema)];
}
