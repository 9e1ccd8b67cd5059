/** Where credentials of AWS come from, and in which order. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { defaultCredentials } from './aws-chain.ts'
import { type FetchOptions, fetchText, type TokenFetchError } from './fetch-text.ts'

const TEMPORARY = {
  AccessKeyId: 'ASIA1',
  SecretAccessKey: 'secret-canary',
  Token: 'tok',
  Expiration: '2030-01-01T00:00:00Z'
}
const FOUND = {
  value: { accessKeyId: 'ASIA1', secretAccessKey: 'secret-canary', sessionToken: 'tok' },
  expiresAt: Date.UTC(2030, 0, 1)
}

/** A world with these answers; what was asked is noted. */
function worldOf(env: Record<string, string>, home = '/nowhere', answers: Record<string, string> = {}) {
  const { signal } = new AbortController()
  const requests: (FetchOptions & { readonly url: string })[] = []
  const answer = (url: string, question: FetchOptions): Promise<string> => {
    requests.push({ url, ...question })
    return answers[url] === undefined
      ? fetchText('http://127.0.0.1:1/', { timeoutMs: 1_000, signal })
      : Promise.resolve(answers[url])
  }
  return { env, home, ask: answer, signal, requests }
}

function homeWith(files: Record<string, string>): string {
  const home = mkdtempSync(join(tmpdir(), 'weir-aws-'))
  mkdirSync(join(home, '.aws'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, '.aws', name), text)
  return home
}

const idOf = async (env: Record<string, string>, home?: string) =>
  (await defaultCredentials(worldOf({ AWS_EC2_METADATA_DISABLED: 'true', ...env }, home))).value.accessKeyId

test('the environment goes first, then the profile of the shared files', async () => {
  const home = homeWith({
    credentials:
      '# mine\n[default]\r\naws_access_key_id = AKD\naws_secret_access_key=s\n[ci]\naws_access_key_id=AKC\naws_secret_access_key=s\naws_session_token=t\n',
    config:
      '[default]\nregion=eu-west-1\n[profile conf]\naws_access_key_id=AKP\naws_secret_access_key=s\ns3 =\n  a = b\n[profile sso]\nsso_session = x\n'
  })
  const env = { AWS_ACCESS_KEY_ID: 'AKE', AWS_SECRET_ACCESS_KEY: 's' }
  equal(await idOf(env, home), 'AKE')
  equal(await idOf({}, home), 'AKD')
  equal(await idOf({ AWS_PROFILE: 'ci' }, home), 'AKC')
  equal(await idOf({ AWS_PROFILE: 'conf' }, home), 'AKP')
  await rejects(idOf({ AWS_PROFILE: 'sso' }, home), /sso_session, which is not in this version/)
  await rejects(idOf({ AWS_PROFILE: 'none' }, home), /is in no shared file/)
  await rejects(idOf({ AWS_PROFILE: '__proto__' }, home), /is in no shared file/)
  await rejects(idOf({}), /neither the environment nor the shared files/)
  equal(await idOf({ AWS_SHARED_CREDENTIALS_FILE: join(home, '.aws', 'credentials') }), 'AKD')
})

test('a web identity is exchanged at STS of the region', async () => {
  const file = join(homeWith({ token: 'jwt-canary\n' }), '.aws', 'token')
  const xml = `<AssumeRoleWithWebIdentityResponse><Credentials><SessionToken>tok</SessionToken><SecretAccessKey>secret-canary</SecretAccessKey><Expiration>2030-01-01T00:00:00Z</Expiration><AccessKeyId>ASIA1</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResponse>`
  const env = { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: 'arn:aws:iam::1:role/r', AWS_REGION: 'eu-west-1' }
  const world = worldOf(env, '/nowhere', { 'https://sts.eu-west-1.amazonaws.com/': xml })
  deepEqual(await defaultCredentials(world), FOUND)
  deepEqual(Object.fromEntries(new URLSearchParams(world.requests[0]!.body)), {
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: 'arn:aws:iam::1:role/r',
    RoleSessionName: 'weir',
    WebIdentityToken: 'jwt-canary'
  })
  const home = homeWith({
    config: `[profile eks]\nrole_arn = arn:aws:iam::2:role/q\nweb_identity_token_file = ${file}\n`
  })
  const named = worldOf({ AWS_PROFILE: 'eks' }, home, { 'https://sts.us-east-1.amazonaws.com/': xml })
  deepEqual(await defaultCredentials(named), FOUND)
  equal(new URLSearchParams(named.requests[0]!.body).get('RoleArn'), 'arn:aws:iam::2:role/q')
  // It is configured: the machine's own role is not what is meant when it fails.
  const down = worldOf(env)
  await rejects(defaultCredentials(down), /cannot be reached/)
  equal(down.requests.length, 1)
  await rejects(defaultCredentials(worldOf({ ...env, AWS_REGION: 'evil.example/' })), /not the name of a region/)
})

test('the container endpoint is asked with its token, on the machine or over TLS only', async () => {
  const json = JSON.stringify(TEMPORARY)
  const ecs = worldOf({ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/x' }, '/nowhere', {
    'http://169.254.170.2/v2/x': json
  })
  deepEqual(await defaultCredentials(ecs), FOUND)
  const file = join(homeWith({ token: 'pod' }), '.aws', 'token')
  const url = 'http://169.254.170.23/v1/credentials'
  const env = { AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file }
  const eks = worldOf(env, '/nowhere', { [url]: json })
  deepEqual(await defaultCredentials(eks), FOUND)
  deepEqual(eks.requests[0]?.headers, { authorization: 'pod' })
  for (const bad of ['http://example.com/', 'ftp://127.0.0.1/', 'http://127.0.0.1.example.com/', 'nonsense']) {
    await rejects(
      defaultCredentials(worldOf({ ...env, AWS_CONTAINER_CREDENTIALS_FULL_URI: bad })),
      /must be https, or a host of the container service/
    )
  }
})

test('instance metadata is asked by version 2 of its protocol', async () => {
  const base = 'http://169.254.169.254/latest'
  const world = worldOf({}, '/nowhere', {
    [`${base}/api/token`]: 'session\n',
    [`${base}/meta-data/iam/security-credentials/`]: 'my role\nother',
    [`${base}/meta-data/iam/security-credentials/my%20role`]: JSON.stringify({ Code: 'Success', ...TEMPORARY })
  })
  deepEqual(await defaultCredentials(world), FOUND)
  deepEqual(
    world.requests.map(({ method = 'GET', headers }) => [method, headers]),
    [
      ['PUT', { 'x-aws-ec2-metadata-token-ttl-seconds': '21600' }],
      ['GET', { 'x-aws-ec2-metadata-token': 'session' }],
      ['GET', { 'x-aws-ec2-metadata-token': 'session' }]
    ]
  )
})

test('endpoints on the machine have the time that AWS_METADATA_SERVICE_TIMEOUT says, in seconds', async () => {
  const url = 'http://127.0.0.1/keys'
  const base = 'http://169.254.169.254/latest'
  const json = JSON.stringify(TEMPORARY)
  const answers = {
    [url]: json,
    [`${base}/api/token`]: 'session',
    [`${base}/meta-data/iam/security-credentials/`]: 'role',
    [`${base}/meta-data/iam/security-credentials/role`]: json
  }
  const timesOf = async (env: Record<string, string>) => {
    const world = worldOf(env, '/nowhere', answers)
    await defaultCredentials(world)
    return world.requests.map(({ timeoutMs }) => timeoutMs)
  }
  const container = { AWS_CONTAINER_CREDENTIALS_FULL_URI: url }
  deepEqual([await timesOf(container), await timesOf({})], [[1_000], [1_000, 1_000, 1_000]])
  for (const [text, ms] of [
    ['60', 60_000],
    ['2.5', 2_500],
    ['', 1_000]
  ] as const) {
    const env = { AWS_METADATA_SERVICE_TIMEOUT: text }
    deepEqual([await timesOf({ ...container, ...env }), await timesOf(env)], [[ms], [ms, ms, ms]], text)
  }
  for (const text of ['0', '-1', '61', '5s', 'Infinity', 'NaN']) {
    const env = { AWS_METADATA_SERVICE_TIMEOUT: text }
    const refused = /AWS_METADATA_SERVICE_TIMEOUT must be seconds, more than 0 and up to 60/
    await rejects(timesOf({ ...container, ...env }), refused, text)
    await rejects(timesOf(env), refused, text)
  }
})

test('answers that are none are errors without a secret', async () => {
  const url = 'http://127.0.0.1/'
  const answers = [
    'secret-canary',
    '[]',
    JSON.stringify({ ...TEMPORARY, Expiration: 'soon' }),
    JSON.stringify({ ...TEMPORARY, Token: 7 }),
    JSON.stringify({ ...TEMPORARY, SecretAccessKey: 'secret-canary\r\nx' }),
    JSON.stringify({ ...TEMPORARY, AccessKeyId: undefined })
  ]
  for (const answer of answers) {
    const world = worldOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url }, '/nowhere', { [url]: answer })
    await rejects(defaultCredentials(world), (error: TokenFetchError) => {
      match(error.constructor.name, /TokenFetchError/, answer)
      equal(error.message.includes('canary'), false)
      return true
    })
  }
})
