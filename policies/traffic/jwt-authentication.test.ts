import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import { STEP_SENDING } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP } from '#engine/contract/filter.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { FieldError, type Sources } from '#engine/contract/policy.ts'
import { NO_SECRETS } from '#engine/contract/secrets.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { problemsOf, takeMatch } from '#engine/testing/policy.ts'
import { compact, hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'
import { jwtAuthentication } from './jwt-authentication.ts'

const key = signingKey('ES256')
const KEYS = keySet([key, { kid: 'a' }])
const ISSUER = 'https://issuer.example'
const single = (more: object = {}) => ({ issuer: ISSUER, jwks: KEYS, ...more })

const NO_FILES: Sources = {
  readFile: () => {
    throw new Error('there are no files here')
  },
  secrets: NO_SECRETS,
  readYaml: JSON.parse
}

/** As the file gives it -> as a worker gets it. */
function resolved(config: unknown, sources = NO_FILES): unknown {
  return jwtAuthentication.resolve!(jwtAuthentication.schema.parse(config) as never, sources)
}

function hook(config: unknown) {
  const context = { ...NO_SERVICES, state: newStateStore(), maxBufferBytes: 0, matches: [], attachment: '' }
  return jwtAuthentication.compile(resolved(config) as never, context).filter!.onRequest!
}

/** 'ok', or the code of the refusal; and the exchange after it. */
async function ask(config: unknown, ...headers: [string, string][]) {
  const ex = fakeExchange({ headers })
  const verdict = await hook(config)(ex)
  assert.equal(verdict, ex.error === null ? CONTINUE : STOP)
  return { outcome: ex.error ?? 'ok', ex }
}

const bearer = (text: string): [string, string] => ['Authorization', `Bearer ${text}`]

test('a valid token: its claims are known, the header is kept aside', async () => {
  const text = await token(key, hour({ sub: 'alice' }), { kid: 'a' })
  const { outcome, ex } = await ask(single(), ['a', '1'], bearer(text))
  assert.deepEqual([outcome, identityOf(ex).jwt!.sub, ex.request.lines()], ['ok', 'alice', 'a: 1\r\n'])
  assert.equal(identityOf(ex).rawToken?.split('.').length, 3)
  assert.deepEqual(identityOf(ex).credentials, ['authorization', `Bearer ${text}`])
})

test('modes: Strict, Optional and Permissive, without, with a bad and with two tokens', async () => {
  const bad = bearer('no.to.ken')
  const outcomes = async (mode: string | undefined) => {
    const config = single(mode === undefined ? {} : { mode })
    const answers = [await ask(config), await ask(config, bad), await ask(config, bad, bad)]
    return answers.map(({ outcome }) => outcome)
  }
  const strict = ['JWT_MISSING', 'JWT_MALFORMED', 'JWT_REPEATED']
  assert.deepEqual(await outcomes(undefined), strict)
  assert.deepEqual(await outcomes('strict'), strict)
  assert.deepEqual(await outcomes('Optional'), ['ok', 'JWT_MALFORMED', 'JWT_REPEATED'])
  assert.deepEqual(await outcomes('permissive'), ['ok', 'ok', 'ok'])
})

test('Permissive: a token that is not valid stays in the request, and has no claims', async () => {
  const forged = compact({ alg: 'ES256', kid: 'a' }, hour({ sub: 'admin' }), Buffer.alloc(64))
  const { ex } = await ask(single({ mode: 'Permissive' }), bearer(forged))
  assert.deepEqual([identityOf(ex).jwt, identityOf(ex).credentials], [null, null])
  assert.equal(ex.request.lines(), `Authorization: Bearer ${forged}\r\n`)
  const { ex: valid } = await ask(single({ mode: 'Permissive' }), bearer(await token(key)))
  assert.deepEqual([identityOf(valid).jwt?.iss, valid.request.lines()], [ISSUER, ''])
})

test('every refusal has static headers: RFC 6750 for the caller, none for a fault of ours', async () => {
  const headers = async (...args: [string, string][]) => (await ask(single(), ...args)).ex.refusalHeaders
  assert.deepEqual(await headers(), ['WWW-Authenticate', 'Bearer realm="Restricted"'])
  assert.deepEqual(await headers(bearer('x'), bearer('y')), [
    'WWW-Authenticate',
    `Bearer realm="Restricted", error="invalid_request", error_description="${ERRORS.JWT_REPEATED.message}"`
  ])
  assert.deepEqual(await headers(bearer(await token(signingKey('ES256'), hour(), { kid: 'a' }))), [
    'WWW-Authenticate',
    `Bearer realm="Restricted", error="invalid_token", error_description="${ERRORS.JWT_SIGNATURE.message}"`
  ])
  for (const [code, { status, message }] of Object.entries(ERRORS).filter(([name]) => name.startsWith('JWT_'))) {
    assert.match(message, /^[a-z ]+$/, `${code} fits into a quoted string`)
    assert.ok([400, 401, 503].includes(status))
  }
})

test('a client that has gone while its token was verified: its end is not changed', async () => {
  const ex = fakeExchange({ headers: [bearer(await token(signingKey('ES256'), hour(), { kid: 'a' }))] })
  const waiting = hook(single())(ex)
  ex.step = STEP_SENDING
  ex.error = 'CLIENT_GONE'
  assert.equal(await waiting, STOP)
  assert.deepEqual([ex.error, ex.refusalHeaders], ['CLIENT_GONE', null])
})

test('keys at a URL: nothing is fetched until the configuration is in force, and 503 without them', async () => {
  const config = { issuer: ISSUER, jwks: { url: 'http://127.0.0.1:1/keys' } }
  const { outcome, ex } = await ask(config, bearer(await token(key)))
  const code: ErrorCode = 'JWT_KEYS_UNAVAILABLE'
  assert.deepEqual([outcome, ex.refusalHeaders, ERRORS[code].status], [code, ['Retry-After', '1'], 503])
})

test('claims of the same token are the same over a reload', async () => {
  const context = { ...NO_SERVICES, state: newStateStore(), maxBufferBytes: 0, matches: [], attachment: '' }
  const text = await token(key)
  const claims = async () => {
    const ex = fakeExchange({ headers: [bearer(text)] })
    const verdict = jwtAuthentication.compile(resolved(single()) as never, context).filter!.onRequest!(ex)
    return { claims: ((await verdict) === CONTINUE && identityOf(ex).jwt) || null, isNow: typeof verdict === 'number' }
  }
  const first = await claims()
  const second = await claims()
  assert.deepEqual([first.isNow, second.isNow, second.claims === first.claims], [false, true, true])
})

test('defaults, and the forms of file and resource', () => {
  const issuer = { issuer: ISSUER, audiences: null, keys: { kind: 'inline', text: KEYS } }
  const location = { kind: 'header', name: 'authorization', prefix: 'Bearer ' }
  const defaults = {
    mode: 'Strict',
    issuers: [issuer],
    requiredClaims: ['exp'],
    leewayMs: 0,
    earlyMs: 60_000,
    location,
    isAnyPlace: true
  }
  assert.deepEqual(resolved(single()), defaults)
  assert.deepEqual(resolved(single({ jwks: { inline: KEYS } })), defaults)
  assert.deepEqual(resolved({ providers: [{ issuer: ISSUER, jwks: { inline: KEYS } }] }), defaults)
  const files: Sources = {
    readFile: (path) => (path === 'keys.json' ? KEYS : ''),
    secrets: NO_SECRETS,
    readYaml: JSON.parse
  }
  assert.deepEqual(resolved(single({ jwks: { file: 'keys.json' } }), files), defaults)
  const more = {
    mode: 'optional',
    audiences: ['x'],
    leeway: '2s',
    jwtValidationOptions: { requiredClaims: [] },
    location: { cookie: { name: 'jwt' } },
    jwks: { url: 'https://issuer.example/keys', cacheDuration: '1m' }
  }
  assert.deepEqual(resolved(single(more)), {
    mode: 'Optional',
    issuers: [
      { issuer: ISSUER, audiences: ['x'], keys: { kind: 'url', url: more.jwks.url, cacheMs: 60_000, exponentMin: 3 } }
    ],
    requiredClaims: [],
    leewayMs: 2_000,
    earlyMs: 2_000,
    location: { kind: 'cookie', name: 'jwt' },
    isAnyPlace: false
  })
})

test('on a route whose clients show keys elsewhere, a token stands there; a key of another kind does not count', async () => {
  const places = [{ kind: 'header', name: 'x-api-key' }] as const
  const text = await token(key, hour({ sub: 'alice' }), { kid: 'a' })
  const answerTo = async (shown: string, mode = 'Strict') => {
    const ex = takeMatch(fakeExchange({ headers: [['x-api-key', shown]] }), [])
    ex.route = { ...ex.route!, keyLocations: places }
    await hook(single({ mode }))(ex)
    return [ex.error, identityOf(ex).jwt?.sub, ex.request.lines(), identityOf(ex).credentials]
  }
  assert.deepEqual(await answerTo(text), [null, 'alice', '', ['x-api-key', text]])
  assert.deepEqual((await answerTo('sk-provider'))[0], 'JWT_MISSING')
  assert.deepEqual(await answerTo('sk-provider', 'Optional'), [null, undefined, 'x-api-key: sk-provider\r\n', null])
})

/** The mistakes of a file that has the policy, without its path: "field: message". */
function mistakes(config: unknown): string[] {
  const policies = { jwtAuth: config }
  const text = JSON.stringify({ binds: [{ port: 80, listeners: [{ routes: [{ policies }] }] }] })
  const result = loadConfig(text, {
    file: 'f',
    env: {},
    policies: [jwtAuthentication],
    backends,
    readFile: NO_FILES.readFile
  })
  const errors = result.ok ? [] : result.errors
  return errors.map(({ path, message }) => `${path.replace(/^binds.*jwtAuth\.?/, '')}: ${message}`)
}

const list = (length: number) => Array.from({ length }, (_, i) => `a${i}`)
const providers = (length: number) => list(length).map((issuer) => ({ issuer, jwks: KEYS }))

test('every constraint is a mistake with its place', () => {
  const path = 'must be a path from the root of the backend, without spaces and fragment'
  const remote = (more: object) => single({ jwks: { remote: { jwksPath: 'k', backendRef: { name: 'idp' }, ...more } } })
  const url = 'must be an http:// or https:// URL without user name and fragment'
  const rows: [unknown, string][] = [
    [{}, ': must have exactly one of providers, issuer'],
    [{ issuer: 'a' }, 'jwks: is required'],
    [single({ providers: providers(1) }), ': must have exactly one of providers, issuer, not providers and issuer'],
    [{ providers: providers(1), jwks: KEYS }, 'jwks: belongs to issuer: each of the providers says its own'],
    [{ providers: providers(1), audiences: ['a'] }, 'audiences: belongs to issuer: each of the providers says its own'],
    [{ providers: [] }, 'providers: must have 1 to 64 entries'],
    [{ providers: providers(65) }, 'providers: must have 1 to 64 entries'],
    [{ providers: [{ jwks: KEYS }] }, 'providers[0].issuer: is required'],
    [{ providers: [{ issuer: 'a' }] }, 'providers[0].jwks: is required'],
    [single({ issuer: '' }), 'issuer: must not be empty'],
    [single({ issuer: 'x'.repeat(257) }), 'issuer: must have at most 256 characters'],
    [single({ audiences: [] }), 'audiences: must have 1 to 64 entries'],
    [single({ audiences: list(65) }), 'audiences: must have 1 to 64 entries'],
    [single({ audiences: [''] }), 'audiences[0]: must not be empty'],
    [single({ mode: 'STRICT' }), 'mode: must be one of Strict, Optional, Permissive, strict, optional, permissive'],
    [single({ leeway: '60' }), 'leeway: must be a duration such as "30s", "1m30s" or "250ms"'],
    [
      single({ jwtValidationOptions: { requiredClaims: [''] } }),
      'jwtValidationOptions.requiredClaims[0]: must not be empty'
    ],
    [single({ location: {} }), 'location: must have exactly one of header, queryParameter, cookie'],
    [single({ jwks: {} }), 'jwks: must have exactly one of inline, file, url, remote'],
    [
      single({ jwks: { url: 'http://a/', file: 'b' } }),
      'jwks: must have exactly one of inline, file, url, remote, not file and url'
    ],
    [single({ jwks: '{' }), 'jwks: must have at least 2 characters'],
    [
      single({ jwks: { inline: `{"keys":[]}${' '.repeat(65_536)}` } }),
      'jwks.inline: must have at most 65536 characters'
    ],
    [single({ jwks: '{}' }), 'jwks: not a JSON Web Key Set: an object with a list "keys" is expected'],
    [
      single({ jwks: '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}' }),
      'jwks: keys[0] is a symmetric key (kty "oct"): who verifies with it can also sign with it'
    ],
    [single({ jwks: { url: 'ftp://a/' } }), `jwks.url: ${url}`],
    [single({ jwks: { url: '/keys' } }), `jwks.url: ${url}`],
    [single({ jwks: { url: 'http://u:p@a/' } }), `jwks.url: ${url}`],
    [
      single({ jwks: { file: 'a', cacheDuration: '1m' } }),
      'jwks.cacheDuration: belongs to url: only what is fetched has an age, and remote says its own'
    ],
    [
      single({ jwks: 'keys.json' }),
      'jwks: the key set is not JSON; a file is written { file: PATH }, an address { url: URL }'
    ],
    [single({ jwks: { file: '/a' } }), 'jwks.file: cannot read /a: there are no files here'],
    [remote({ jwksPath: '' }), 'jwks.remote.jwksPath: must not be empty'],
    [remote({ jwksPath: 'x'.repeat(2001) }), 'jwks.remote.jwksPath: must have at most 2000 characters'],
    [remote({ cacheDuration: 5 }), 'jwks.remote.cacheDuration: must be a duration such as "30s", "1m30s" or "250ms"'],
    [remote({ backendRef: undefined }), 'jwks.remote: must have exactly one of backendRef, backend, host'],
    [remote({ jwksPath: 'a b' }), `jwks.remote.jwksPath: ${path}`],
    [remote({ jwksPath: 'https://a/keys' }), `jwks.remote.jwksPath: ${path}; a whole address is written { url: URL }`]
  ]
  for (const [config, expected] of rows) assert.deepEqual(mistakes(config), [expected])
  assert.deepEqual(mistakes({ providers: providers(64) }), [])
  assert.deepEqual(mistakes(single({ audiences: list(64) })), [])
  assert.deepEqual(problemsOf(jwtAuthentication, single()), [])
})

test('mistakes in a file are reported with its name, at the field', () => {
  const files: Sources = { readFile: () => '{"keys": [canary', secrets: NO_SECRETS, readYaml: JSON.parse }
  const config = { providers: [...providers(1), { issuer: 'b', jwks: { file: 'keys.json' } }] }
  assert.throws(
    () => resolved(config, files),
    (error: unknown) => {
      assert.ok(error instanceof FieldError)
      assert.deepEqual(error.path, ['providers', 1, 'jwks', 'file'])
      assert.equal(error.message, 'keys.json: the key set is not JSON')
      return true
    }
  )
})
