import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignatureV4 } from '@smithy/signature-v4'
import fc from 'fast-check'
import { Sha256 } from '#engine/testing/aws.ts'
import { createSigner, hashOf, type SignableRequest, signingKey } from './sigv4.ts'

/** Credentials, time and scope of AWS's published test suite (aws-sig-v4-test-suite). */
const EXAMPLE = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: null
}
const AT = Date.UTC(2015, 7, 30, 12, 36, 0)
const GET: SignableRequest = {
  method: 'GET',
  host: 'example.amazonaws.com',
  path: '/',
  query: '',
  headers: [],
  payloadHash: hashOf('')
}
const signature = (headers: [string, string][]): string =>
  /Signature=([0-9a-f]{64})$/.exec(new Map(headers).get('authorization') ?? '')?.[1] ?? ''

test("the signatures of AWS's published vectors", () => {
  const sign = createSigner('us-east-1', 'service')
  const vectors: [name: string, request: Partial<SignableRequest>, expected: string][] = [
    ['get-vanilla', {}, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['get-relative', { path: '/example/..' }, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['get-slash', { path: '//' }, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    [
      'get-vanilla-query-order-key-case',
      { query: 'Param2=value2&Param1=value1' },
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500'
    ],
    ['post-vanilla', { method: 'POST' }, '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b']
  ]
  for (const [name, request, expected] of vectors) {
    assert.equal(signature(sign({ ...GET, ...request }, EXAMPLE, AT)), expected, name)
  }
  const authorization = new Map(sign(GET, EXAMPLE, AT)).get('authorization')
  assert.match(authorization!, /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20150830\/us-east-1\/service\/aws4_request, /)
  assert.match(authorization!, /, SignedHeaders=host;x-amz-date, /)
})

test('the signing key of the IAM user guide', () => {
  const key = signingKey(EXAMPLE.secretAccessKey, '20150830', 'us-east-1', 'iam').toString('hex')
  assert.equal(key, 'c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9')
})

test('a session token is sent and signed, and what the client sent under these names is not', () => {
  const sign = createSigner('eu-west-1', 'bedrock')
  const temporary = { ...EXAMPLE, sessionToken: 'token' }
  const headers = sign(GET, temporary, AT)
  assert.deepEqual(headers.slice(0, 2), [
    ['x-amz-date', '20150830T123600Z'],
    ['x-amz-security-token', 'token']
  ])
  assert.match(headers[2]![1], /SignedHeaders=host;x-amz-date;x-amz-security-token,/)
  const sent = [
    ['X-Amz-Date', '19990101T000000Z'],
    ['X-Amz-Security-Token', 'theirs'],
    ['user-agent', 'x']
  ] as const
  assert.deepEqual(sign({ ...GET, headers: sent }, temporary, AT), headers)
})

test("signs as AWS's own library does: any path, query, header and time", async () => {
  const sign = createSigner('us-west-2', 'bedrock')
  const segment = fc.constantFrom('model', 'us.anthropic.claude-3%3A0', 'arn%3Aaws%3Abedrock', 'a b', "!'()*", '~', 'é')
  // Parameters are properties of a plain object in AWS's library: it loses this one.
  const parameter = fc.string({ minLength: 1 }).filter((name) => name !== '__proto__')
  const request = fc.record({
    path: fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.map(encodeURI).join('/')}`),
    query: fc.dictionary(parameter, fc.string(), { maxKeys: 4, noNullPrototype: true }),
    contentType: fc.constantFrom('application/json', ' text/plain;  charset=utf-8 '),
    body: fc.string(),
    token: fc.option(fc.constant('session')),
    at: fc.integer({ min: 0, max: 4e12 })
  })
  await fc.assert(
    fc.asyncProperty(request, async ({ path, query, contentType, body, token, at }) => {
      const reference = new SignatureV4({
        service: 'bedrock',
        region: 'us-west-2',
        sha256: Sha256,
        applyChecksum: false,
        credentials: { ...EXAMPLE, ...(token === null ? { sessionToken: undefined } : { sessionToken: token }) } as {
          accessKeyId: string
          secretAccessKey: string
          sessionToken?: string
        }
      })
      const headers = { host: 'bedrock-runtime.us-west-2.amazonaws.com', 'content-type': contentType }
      const expected = await reference.sign(
        { method: 'POST', protocol: 'https:', hostname: headers.host, path, query, headers, body },
        { signingDate: new Date(at) }
      )
      const wire = Object.entries(query).map(
        ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
      )
      const own = sign(
        {
          method: 'POST',
          host: headers.host,
          path,
          query: wire.join('&'),
          headers: [['Content-Type', contentType]],
          payloadHash: hashOf(body)
        },
        { ...EXAMPLE, sessionToken: token },
        at
      )
      assert.equal(new Map(own).get('authorization'), expected.headers.authorization)
    })
  )
})
