/** How a backend is shown who asks, as the Snapshot has it (docs/specification.md#backend-authentication). */
import type { Secret } from '#engine/kit/secret.ts'

export type BackendAuth =
  /** The client's own credential, also the one that a policy of the gateway has taken out. */
  { readonly kind: 'passthrough' } | KeyAuth | AwsAuth | GcpAuth | SignedTokenAuth

export interface KeyAuth {
  readonly kind: 'key'
  readonly key: Secret
  /** Header field, with what stands before the key there; null: where the backend wants it. */
  readonly location: { readonly header: string; readonly prefix: string } | null
}

export interface AwsAuth {
  readonly kind: 'aws'
  /** Null: the default chain of AWS. */
  readonly keys: {
    readonly accessKeyId: string
    readonly secretAccessKey: Secret
    readonly sessionToken: Secret | null
  } | null
  /** Null: that of the backend. */
  readonly region: string | null
  readonly service: string | null
}

export interface GcpAuth {
  readonly kind: 'gcp'
  readonly token: 'access' | 'id'
  /** Of an id token; null: https:// and the backend's host. */
  readonly audience: string | null
  /** Null: the default of Google's libraries. */
  readonly credential: { readonly file: string } | { readonly json: Secret } | null
}

/** A token that the gateway signs itself (RFC 7519). */
export interface SignedTokenAuth {
  readonly kind: 'jwtSign'
  /** A private key in PEM, which fits `alg`. */
  readonly key: Secret
  readonly alg: SigningAlg
  readonly kid: string | null
  /** Beside iat and exp. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly ttlMs: number
}

/** Of RFC 7518, and RFC 8037. */
export const SIGNING_ALGS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const
export type SigningAlg = (typeof SIGNING_ALGS)[number]

/** The header field that a server is shown who asks in. */
export function authHeaderOf(auth: BackendAuth): string {
  return auth.kind === 'key' && auth.location !== null ? auth.location.header.toLowerCase() : 'authorization'
}
