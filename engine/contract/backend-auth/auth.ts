/** How a backend is shown who asks, as the Snapshot has it (docs/specification.md#backend-authentication). */
import type { Secret } from '#engine/kit/secret.ts'

export type BackendAuth =
  /** The client's own credential, also the one that a policy of the gateway has taken out. */
  { readonly kind: 'passthrough' } | KeyAuth | AwsAuth | GcpAuth

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

/** The header field that a server is shown who asks in. */
export function authHeaderOf(auth: BackendAuth): string {
  return auth.kind === 'key' && auth.location !== null ? auth.location.header.toLowerCase() : 'authorization'
}
