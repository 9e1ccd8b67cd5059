/** The backend policy `auth` (docs/specification.md#backend-authentication): the schema, and what it refers to. */

import { FieldError, type Sources } from '#engine/contract/policy.ts'
import { headerEntry, type NamedSecret } from '#engine/contract/secrets.ts'
import { secret } from '#engine/kit/secret.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { authKey, keyHeader } from '#engine/schema/credential.ts'
import { realKeys, withNeutralNames } from '#engine/schema/names.ts'
import { cel, ONLY_FILES } from '#engine/schema/rule.ts'
import { longString, refusedKeys, shortString, type ZodType, z } from '#engine/schema/schema.ts'
import { secretRef } from '#engine/schema/secret-ref.ts'
import { onlyInFiles, words } from '#engine/schema/spelling.ts'
import { sound, together } from '#engine/schema/together.ts'
import type { AwsAuth, BackendAuth, GcpAuth, KeyAuth } from './auth.ts'
import { jwtSign, readJwtSign } from './jwt-sign.ts'

/** Session tokens of AWS have no fixed length; some have over a thousand characters. */
const TOKEN_CHARS_MAX = 8_192
/** A service account has about 2,400 characters. */
const ACCOUNT_CHARS_MAX = 16_384

/** Entries of secrets. */
const AUTHORIZATION = 'Authorization'
const ACCESS_KEY = 'accessKey'
const SECRET_KEY = 'secretKey'
const SESSION_TOKEN = 'sessionToken'

/** Of a region of AWS (docs/specification.md#llm-backends), and of a service as signatures name it. */
export const awsRegion = () =>
  z
    .string()
    .min(1)
    .max(63)
    .regex(/^[a-z0-9-]+$/, 'must have only lower-case letters, digits and "-"')

/** What goes into a header line as it is. */
const visible = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[!-~]+$/, 'must have visible ASCII characters only')

const KEYS = { accessKey: visible(256), secretKey: visible(256), sessionToken: visible(TOKEN_CHARS_MAX) } as const

const aws = () =>
  z
    .strictObject({
      accessKeyId: onlyInFiles(KEYS.accessKey.optional()),
      secretAccessKey: onlyInFiles(KEYS.secretKey.optional()),
      sessionToken: onlyInFiles(KEYS.sessionToken.optional()).describe('Of temporary keys.'),
      region: awsRegion()
        .optional()
        .describe("Signed for; default: the model provider's, that of a host of AWS, else us-east-1 for models."),
      service: awsRegion()
        .optional()
        .describe("Signed for, such as execute-api; default: the model provider's, that of a host of AWS."),
      secretRef: secretRef(`${ACCESS_KEY}, ${SECRET_KEY} and, of temporary keys, ${SESSION_TOKEN}`).optional()
    })
    .refine(({ accessKeyId, secretAccessKey }) => (accessKeyId === undefined) === (secretAccessKey === undefined), {
      when: sound('accessKeyId', 'secretAccessKey'),
      error: 'accessKeyId and secretAccessKey belong together',
      params: ONLY_FILES
    })
    .refine(({ sessionToken, accessKeyId }) => sessionToken === undefined || accessKeyId !== undefined, {
      when: sound(),
      path: ['sessionToken'],
      error: 'is only used with accessKeyId and secretAccessKey',
      params: ONLY_FILES
    })
    .refine(({ secretRef: named, accessKeyId }) => named === undefined || accessKeyId === undefined, {
      when: sound(),
      path: ['secretRef'],
      error: 'says again what accessKeyId and secretAccessKey say: keep one of them',
      params: ONLY_FILES
    })

const TOKENS = ['AccessToken', 'IdToken'] as const

const gcp = () =>
  z
    .strictObject({
      type: words(TOKENS).optional().describe('Default AccessToken; IdToken is for Cloud Run.'),
      audience: shortString().optional().describe("Of an id token. Default: https:// and the backend's host."),
      credential: onlyInFiles(
        oneOf({
          file: longString()
            .regex(/^\//, 'must be an absolute path')
            .optional()
            .describe('JSON of a service account; read again for each token.'),
          inline: z.string().min(2).max(ACCOUNT_CHARS_MAX).optional().describe('JSON of a service account.')
        }).optional()
      )
    })
    .refine(({ type, audience }) => audience === undefined || isIdToken(type), {
      when: sound('type'),
      path: ['audience'],
      error: 'is only used with type IdToken',
      params: cel("!has(self.audience) || (has(self.type) && self.type == 'IdToken')")
    })

const isIdToken = (type: string | undefined) => type === 'IdToken' || type === 'idToken'

const location = () =>
  oneOf({
    header: keyHeader().optional(),
    ...refusedKeys('location of a key', ['cookie', 'queryParameter'])
  })

const NO_KEY = 'is only used with key or secretRef'

export const backendAuth = () =>
  oneOf(
    withNeutralNames({
      key: authKey()
        .optional()
        .describe('Sent as a bearer token, or where a provider wants it; with a scheme ("Basic ...") as it is.'),
      secretRef: secretRef(AUTHORIZATION).optional(),
      passthrough: z
        .strictObject({})
        .optional()
        .describe("The client's own credential, also the one that a policy of the gateway has taken out."),
      aws: aws().optional().describe('Signature Version 4. Without keys: the default chain of AWS.'),
      gcp: gcp().optional().describe('Tokens of Google. Without a credential: its application default credentials.'),
      jwtSign: onlyInFiles(jwtSign().optional()).describe('Tokens that the gateway signs itself.'),
      ...refusedKeys('backend authentication', ['azure'])
    }),
    { location: location().optional().describe('Of a key. Default: Authorization.') }
  ).check(
    together<{ readonly location?: unknown; readonly key?: unknown; readonly secretRef?: unknown }>(
      [],
      ({ value, issues }) => {
        const hasKey = value.key !== undefined || value.secretRef !== undefined
        if (value.location === undefined || hasKey) return
        issues.push({ code: 'custom', path: ['location'], message: NO_KEY, input: value })
      },
      cel('!has(self.location) || has(self.key) || has(self.secretRef)', { field: 'location', message: NO_KEY })
    )
  )

export type FileAuth = z.output<ReturnType<typeof backendAuth>>

/** Throws a FieldError for a secret that is not there, or does not hold what it should. */
export function readAuth(input: FileAuth, sources: Sources): BackendAuth {
  const file = realKeys(input)
  if (file.key !== undefined) return keyAuth(file.key, file.location)
  if (file.secretRef !== undefined) return keyAuth(keyOf(file.secretRef.name, sources), file.location)
  if (file.aws !== undefined) return awsOf(file.aws, sources)
  if (file.gcp !== undefined) return gcpOf(file.gcp)
  if (file.jwtSign !== undefined) return readJwtSign(file.jwtSign, sources)
  return { kind: 'passthrough' }
}

export function keyAuth(key: string, place?: FileAuth['location']): KeyAuth {
  const { header } = place ?? {}
  const location = header === undefined ? null : { header: header.name, prefix: header.prefix ?? '' }
  return { kind: 'key', key: secret(key), location }
}

const HEADER_VALUE = authKey()

/** The key in the secret `name`, which a policy refers to in its field `secretRef`. Throws a FieldError. */
export function keyOf(name: string, sources: Sources): string {
  return fromSecret(name, ['secretRef', 'name'], sources, (named) => sealed(named, AUTHORIZATION, HEADER_VALUE))
}

function awsOf(input: NonNullable<FileAuth['aws']>, sources: Sources): AwsAuth {
  const { region = null, service = null, secretRef: ref } = input
  return { kind: 'aws', keys: ref === undefined ? inlineKeys(input) : secretKeys(ref.name, sources), region, service }
}

function inlineKeys(input: NonNullable<FileAuth['aws']>): AwsAuth['keys'] {
  const { accessKeyId, secretAccessKey, sessionToken } = input
  if (accessKeyId === undefined || secretAccessKey === undefined) return null
  return { accessKeyId, secretAccessKey: secret(secretAccessKey), sessionToken: optional(sessionToken) }
}

function secretKeys(name: string, sources: Sources): AwsAuth['keys'] {
  return fromSecret(name, ['aws', 'secretRef', 'name'], sources, (named) => ({
    accessKeyId: sealed(named, ACCESS_KEY, KEYS.accessKey),
    secretAccessKey: secret(sealed(named, SECRET_KEY, KEYS.secretKey)),
    sessionToken: named.entries.has(SESSION_TOKEN) ? secret(sealed(named, SESSION_TOKEN, KEYS.sessionToken)) : null
  }))
}

const optional = (text: string | undefined) => (text === undefined ? null : secret(text))

function gcpOf(input: NonNullable<FileAuth['gcp']>): GcpAuth {
  const { type, audience = null, credential } = input
  return { kind: 'gcp', token: isIdToken(type) ? 'id' : 'access', audience, credential: credentialOf(credential) }
}

function credentialOf(input: NonNullable<FileAuth['gcp']>['credential']): GcpAuth['credential'] {
  if (input?.file !== undefined) return { file: input.file }
  return input?.inline === undefined ? null : { json: secret(input.inline) }
}

function fromSecret<T>(name: string, at: readonly string[], { secrets }: Sources, read: (named: NamedSecret) => T): T {
  try {
    return read(secrets.get(name))
  } catch (error) {
    throw new FieldError(at, (error as Error).message)
  }
}

/** An entry that goes into a header. What is wrong with it is said without it. */
function sealed(named: NamedSecret, entry: string, schema: ZodType): string {
  const value = headerEntry(named, entry)
  if (value === '') throw new Error(`'${entry}' of secret '${named.name}' is empty`)
  const result = schema.safeParse(value)
  if (result.success) return value
  const [problem] = result.error.issues
  throw new Error(`'${entry}' of secret '${named.name}' ${problem!.message}`)
}
