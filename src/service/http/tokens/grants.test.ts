import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JWTPayload } from 'jose';
import type { ClaimSettings } from '../../../core/settings/token-settings.ts';
import { grantsOf } from './grants.ts';

const usual: ClaimSettings = {
  scope: ['scope', 'scp'],
  schemas: 'schemas',
  schemasRequired: false,
  role: 'role',
  defaultRole: undefined,
};

function scopesOf(payload: JWTPayload, ...scope: string[]): string[] {
  return [...grantsOf(payload, { ...usual, scope }).scopes];
}

test('scopes are read from the claims of Keycloak, Auth0 and Entra ID', () => {
  const keycloak = {
    scope: 'email',
    resource_access: { tablewright: { roles: ['table:load', 'table:read'] } },
  };
  assert.deepEqual(scopesOf(keycloak, '/resource_access/tablewright/roles'), ['table:load', 'table:read']);
  assert.deepEqual(scopesOf({ permissions: ['table:load'] }, 'permissions', 'scope'), ['table:load']);
  assert.deepEqual(scopesOf({ scp: 'table:load table:read' }, 'roles', 'scp'), ['table:load', 'table:read']);
  assert.deepEqual(scopesOf({ roles: ['table:load'] }, 'roles', 'scp'), ['table:load']);
});

test('the first claim that the token has is read', () => {
  assert.deepEqual(scopesOf({ scope: '', scp: 'table:load' }, 'scope', 'scp'), []);
});

test('a claim may have a URL, dots or a slash in its name', () => {
  assert.deepEqual(scopesOf({ 'https://example.com/roles': ['a'] }, 'https://example.com/roles'), ['a']);
  assert.deepEqual(scopesOf({ 'a.b': 'x', a: { b: 'y' } }, 'a.b'), ['x']);
  assert.deepEqual(scopesOf({ a: { 'b/c~d': ['x'] } }, '/a/b~1c~0d'), ['x']);
  assert.deepEqual(scopesOf({ '/a': 'x' }, '/~1a'), ['x']);
  assert.deepEqual(scopesOf({ groups: [{ name: 'x' }] }, '/groups/0/name'), ['x']);
});

test('a way that leads nowhere is a claim that the token does not have', () => {
  for (const claim of [
    '/a/b/c',
    '/a/length',
    '/text/length',
    '/text/0',
    '/nothing/x',
    'constructor',
    '/a/-',
    '/__proto__/x',
  ]) {
    assert.deepEqual(scopesOf({ a: ['x'], text: 'x', nothing: null }, claim), [], claim);
  }
});

test('a token without the schemas claim has all schemas, or none if the claim is set', () => {
  assert.equal(grantsOf({}, usual).schemas, undefined);
  assert.deepEqual(grantsOf({}, { ...usual, schemasRequired: true }).schemas, []);
  assert.deepEqual(grantsOf({ schemas: 'a, b_*' }, usual).schemas, ['a', 'b_*']);
  assert.throws(() => grantsOf({ schemas: null }, usual), { code: 'invalid-token' });
});

test('a role is a text or a list of one text, and else the default', () => {
  const withDefault = { ...usual, defaultRole: 'reader' };
  const roleOf = (role: unknown) => grantsOf({ role }, withDefault).role;
  assert.equal(roleOf('writer'), 'writer');
  assert.equal(roleOf(['writer']), 'writer');
  assert.equal(roleOf([]), 'reader');
  assert.equal(roleOf(undefined), 'reader');
  assert.equal(grantsOf({}, usual).role, undefined);
  for (const wrong of [['a', 'b'], 7, '', 'none', ['none'], {}, null, [null], 'x'.repeat(64)]) {
    assert.throws(() => roleOf(wrong), { code: 'invalid-token' }, JSON.stringify(wrong));
  }
});

test('a subject or an issuer that is not text is refused', () => {
  for (const wrong of [7, {}, [], ['anna'], null, true]) {
    for (const name of ['sub', 'iss'])
      assert.throws(() => grantsOf({ [name]: wrong } as JWTPayload, usual), { code: 'invalid-token' });
  }
  assert.equal(grantsOf({ sub: 'anna', iss: 'me' }, usual).subject, 'anna');
});
