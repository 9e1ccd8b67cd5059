/** Which credentials a provider gets (docs/specification.md#backend-authentication). */
import type { AiAuth } from '#backends/llm/config/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { authKey } from '#engine/schema/credential.ts'
import { realKeys, withNeutralNames } from '#engine/schema/names.ts'
import { longString, refusedKeys, shortString, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'

/** Session tokens of AWS have no fixed length; some have over a thousand characters. */
const TOKEN_CHARS_MAX = 8_192
/** A service account has about 2,400 characters. */
const ACCOUNT_CHARS_MAX = 16_384

/** Of a region of AWS (docs/specification.md#llm-backends). */
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

const aws = () =>
  z
    .strictObject({
      accessKeyId: visible(256).optional(),
      secretAccessKey: visible(256).optional(),
      sessionToken: visible(TOKEN_CHARS_MAX).optional().describe('Of temporary keys.'),
      region: awsRegion().optional().describe("Signed for; default: the provider's, else us-east-1."),
      secretRef: secretRef('accessKeyId and secretAccessKey')
    })
    .refine(({ accessKeyId, secretAccessKey }) => (accessKeyId === undefined) === (secretAccessKey === undefined), {
      when: sound('accessKeyId', 'secretAccessKey'),
      error: 'accessKeyId and secretAccessKey belong together'
    })
    .refine(({ sessionToken, accessKeyId }) => sessionToken === undefined || accessKeyId !== undefined, {
      when: sound(),
      path: ['sessionToken'],
      error: 'is only used with accessKeyId and secretAccessKey'
    })

const TOKENS = ['AccessToken', 'IdToken', 'accessToken', 'idToken'] as const

const gcp = () =>
  z
    .strictObject({
      type: z.enum(TOKENS).optional().describe('Default AccessToken; IdToken is for Cloud Run.'),
      audience: shortString().optional().describe("Of an id token. Default: https:// and the provider's host."),
      credential: oneOf({
        file: longString()
          .regex(/^\//, 'must be an absolute path')
          .optional()
          .describe('JSON of a service account; read again for each token.'),
        inline: z.string().min(2).max(ACCOUNT_CHARS_MAX).optional().describe('JSON of a service account.')
      }).optional()
    })
    .refine(({ type, audience }) => audience === undefined || isIdToken(type), {
      when: sound('type'),
      path: ['audience'],
      error: 'is only used with type IdToken'
    })

const isIdToken = (type: string | undefined) => type === 'IdToken' || type === 'idToken'

const secretRef = (instead: string) =>
  z.never({ error: `is for resources of Kubernetes: a file has ${instead}, which may come from a variable` }).optional()

/** What has only one key to show. */
export const keyOnly = () =>
  oneOf({
    key: authKey().optional().describe('Sent as a bearer token.'),
    ...refusedKeys('authentication of a moderation', ['aws', 'azure', 'cloudC', 'cloudD', 'gcp', 'passthrough']),
    secretRef: secretRef('key')
  })

export const auth = () =>
  oneOf(
    withNeutralNames({
      key: authKey().optional().describe('Sent in the place where the provider wants it.'),
      passthrough: z
        .strictObject({})
        .optional()
        .describe("The client's own credential, also the one that a policy of the gateway has taken out."),
      aws: aws().optional().describe('Signature Version 4. Without keys: the default chain of AWS.'),
      gcp: gcp().optional().describe('Tokens of Google. Without a credential: its application default credentials.'),
      ...refusedKeys('backend authentication', ['azure']),
      secretRef: secretRef('key')
    })
  )

export type FileAuth = z.output<ReturnType<typeof auth>>

/** Null: the provider's default. */
export function authOf(input: FileAuth | undefined): AiAuth | null {
  const file = input === undefined ? undefined : realKeys(input)
  if (file?.key !== undefined) return { kind: 'key', key: secret(file.key) }
  if (file?.passthrough !== undefined) return { kind: 'passthrough' }
  if (file?.aws !== undefined) return awsOf(file.aws)
  if (file?.gcp === undefined) return null
  const { type, audience = null, credential } = file.gcp
  return { kind: 'gcp', token: isIdToken(type) ? 'id' : 'access', audience, credential: credentialOf(credential) }
}

type GcpCredential = Extract<AiAuth, { readonly kind: 'gcp' }>['credential']

function awsOf(input: NonNullable<FileAuth['aws']>): AiAuth {
  const { accessKeyId, secretAccessKey, sessionToken } = input
  const region = input.region ?? null
  if (accessKeyId === undefined || secretAccessKey === undefined) return { kind: 'aws', keys: null, region }
  const token = sessionToken === undefined ? null : secret(sessionToken)
  const keys = { accessKeyId, secretAccessKey: secret(secretAccessKey), sessionToken: token }
  return { kind: 'aws', keys, region }
}

function credentialOf(credential: NonNullable<FileAuth['gcp']>['credential']): GcpCredential {
  if (credential?.file !== undefined) return { file: credential.file }
  return credential?.inline === undefined ? null : { json: secret(credential.inline) }
}
