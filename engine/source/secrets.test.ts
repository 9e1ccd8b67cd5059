/** Named secrets of a configuration, and what policies make of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { authority } from '#engine/testing/certificates.ts'
import { policies } from '#policies/index.ts'

const FILES: Record<string, string> = {
  '/w/token': 'Bearer of-file\n',
  '/w/users': 'a:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n'
}

function load(config: object, env: Record<string, string> = {}) {
  const readFile = (path: string) => {
    if (Object.hasOwn(FILES, path)) return FILES[path]!
    throw Object.assign(new Error('none'), { code: 'ENOENT' })
  }
  return loadConfig(JSON.stringify(config), { file: 'f', folder: '/w', env, policies, backends, readFile })
}

const site = (secrets: object[], route: object, own: object = {}) => ({
  secrets,
  binds: [{ port: 1, listeners: [{ routes: [{ policies: route, backends: [{ host: 'a:1', ...own }] }] }] }]
})

function good(config: object, env?: Record<string, string>) {
  const result = load(config, env)
  if (!result.ok) assert.fail(formatErrors(result.errors))
  return result
}

/** Messages of a configuration whose secrets are canaries. */
function mistakes(config: object): string {
  const result = load(config)
  const text = result.ok ? '' : formatErrors(result.errors)
  assert.equal(text.includes('canary'), false, text)
  return text
}

test('values come from the file itself, its variables, and files, which are watched', () => {
  const entries = { inline: { inline: 'one' }, '.htaccess': { file: 'users' }, Authorization: { file: 'token' } }
  const secrets = [
    { name: 's', entries },
    { name: 'v', entries: { Authorization: '$TOKEN' } }
  ]
  const config = site(
    secrets,
    { basicAuth: { secretRef: { name: 's' } } },
    { policies: { auth: { secretRef: { name: 's' } } } }
  )
  const { snapshot, files } = good(config, { TOKEN: 'of-variable' })
  assert.deepEqual(files.map(({ path }) => path).sort(), ['/w/token', '/w/users'])
  const [backend] = Object.values(snapshot.backends) as { readonly auth?: unknown }[]
  assert.deepEqual(backend!.auth, { kind: 'key', key: { $secret: 'Bearer of-file' }, location: null })
  const [route] = snapshot.binds[0]!.listeners[0]!.routes
  assert.deepEqual(route!.policies.basicAuthentication, {
    mode: 'Strict',
    realm: 'Restricted',
    users: [{ name: 'a', hash: { $secret: '{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=' } }]
  })
  const other = good(site(secrets, {}, { policies: { auth: { secretRef: { name: 'v' } } } }), { TOKEN: 'of-variable' })
  const [shown] = Object.values(other.snapshot.backends) as { readonly auth?: unknown }[]
  assert.deepEqual(shown!.auth, { kind: 'key', key: { $secret: 'of-variable' }, location: null })
})

test('API keys are the entries of a secret, or of all that a selector finds', () => {
  const secrets = [
    {
      name: 'one',
      labels: { team: 'a', env: 'x' },
      entries: { k1: 'key-1', k2: '{"key":"key-2","metadata":{"plan":"gold"}}' }
    },
    { name: 'two', labels: { team: 'a' }, entries: { k3: 'key-3\n' } },
    { name: 'three', labels: { team: 'b' }, entries: { k4: 'key-4' } }
  ]
  const metadataOf = (apiKey: object) => {
    const { snapshot } = good(site(secrets, { apiKey }))
    const { keys } = snapshot.binds[0]!.listeners[0]!.routes[0]!.policies.apiKeyAuthentication as {
      readonly keys: { readonly metadata: unknown }[]
    }
    return keys.map(({ metadata }) => metadata)
  }
  assert.deepEqual(metadataOf({ secretRef: { name: 'one' } }), [{}, { plan: 'gold' }])
  assert.equal(metadataOf({ secretSelector: { matchLabels: { team: 'a' } } }).length, 3)
  assert.equal(metadataOf({ secretSelector: { matchLabels: { team: 'a', env: 'x' } } }).length, 2)
})

test('certificates for TLS to backends come from secrets', () => {
  const ca = authority('ca.test')
  const own = ca.issue('/CN=weir.test')
  const secrets = [
    { name: 'own', entries: { 'tls.crt': own.cert, 'tls.key': own.key, 'ca.cert': own.cert } },
    { name: 'ca', entries: { 'ca.crt': ca.cert } }
  ]
  const tlsOf = (tls: object) => {
    const { snapshot } = good(site(secrets, {}, { policies: { tls } }))
    const [backend] = Object.values(snapshot.backends) as unknown as {
      readonly transport: { readonly tls: Record<string, unknown> }
    }[]
    return backend!.transport.tls
  }
  const mtls = { mtlsCertificateRef: [{ name: 'own' }] }
  assert.deepEqual([tlsOf(mtls).cert, tlsOf(mtls).key, tlsOf(mtls).ca], [own.cert, { $secret: own.key }, own.cert])
  assert.equal(tlsOf({ ...mtls, caCertificateRefs: [{ name: 'ca' }] }).ca, ca.cert)
  assert.equal(tlsOf({ caCertificateRefs: [{ name: 'ca' }] }).cert, null)
  const wrong = (tls: object) => mistakes(site(secrets, {}, { policies: { tls } }))
  assert.match(
    wrong({ mtlsCertificateRef: [{ name: 'ca' }] }),
    /mtlsCertificateRef\[0\]\.name: secret 'ca' has no key 'tls\.crt'; it has: 'ca\.crt'/
  )
  assert.match(wrong({ ...mtls, cert: 'a', key: 'b' }), /mtlsCertificateRef: says again what cert says/)
  assert.match(
    wrong({ caCertificateRefs: [{ name: 'ca' }], root: 'a' }),
    /caCertificateRefs: says again what root says/
  )
})

test('mistakes have a place and say what to do, and no value', () => {
  const s = (entries: object, more: object = {}) => [{ name: 's', entries, ...more }]
  const key = { policies: { auth: { secretRef: { name: 's' } } } }
  const basic = { basicAuth: { secretRef: { name: 's' } } }
  const apiKey = { apiKey: { secretRef: { name: 's' } } }
  const cases: [object, RegExp][] = [
    [site(s({ a: { file: 'none' } }), {}), /secrets\[0\]\.entries\.a\.file: cannot read \/w\/none/],
    [site([...s({ a: 'x' }), ...s({ a: 'y' })], {}), /secrets\[1\]\.name: two secrets are called s/],
    [site(s({}), {}), /secrets\[0\]\.entries: must have an entry/],
    [site(s({ a: 1 }), {}), /secrets\[0\]\.entries\.a: must be text/],
    [site(s({ a: null }), {}), /secrets\[0\]\.entries\.a: is empty/],
    [site(s({ a: { env: 'canary' } }), {}), /secrets\[0\]\.entries\.a/],
    [
      site(s({ a: 'x' }), { basicAuth: { secretRef: { name: 't' } } }),
      /basicAuth\.secretRef\.name: there is no secret 't' in secrets/
    ],
    [
      site(s({ '.htpasswd': 'canary' }), basic),
      /secretRef\.name: secret 's' has no key '\.htaccess'; it has: '\.htpasswd'/
    ],
    [site(s({ '.htaccess': 'a:canary' }), basic), /'\.htaccess' of secret 's': line 1: has none of the known hashes/],
    [
      site(s({ a: '{"key":"canary",' }), apiKey),
      /secretRef\.name: 'a' of secret 's' must be an API key, or a JSON object/
    ],
    [site(s({ a: 'canary\u0007' }), apiKey), /'a' of secret 's' must be an API key[^\n]*control characters/],
    [site(s({ a: 'canary', b: '{"key":"canary"}' }), apiKey), /'b' of secret 's' is the same key as 'a' of secret 's'/],
    [
      site(s({ a: 'x' }), { apiKey: { secretSelector: { matchLabels: { a: 'b' } } } }),
      /matchLabels: no secret has all of/
    ],
    [site(s({ a: 'x' }), { apiKey: { secretSelector: { matchLabels: {} } } }), /must have a label/],
    [site(s({ Authorization: 'canary\nX-Evil: 1' }), {}, key), /'Authorization' of secret 's' must be visible ASCII/],
    [site(s({ Authorization: '' }), {}, key), /'Authorization' of secret 's' is empty/]
  ]
  for (const [config, wanted] of cases) assert.match(mistakes(config), wanted, JSON.stringify(config))
})
