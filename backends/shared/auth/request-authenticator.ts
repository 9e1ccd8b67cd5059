/** The policy `auth` of backends that are servers: what each request to them shows. */
import type { BackendContext } from '#engine/contract/backend.ts'
import type { AwsAuth, BackendAuth, GcpAuth, KeyAuth } from '#engine/contract/backend-auth/auth.ts'
import { reveal } from '#engine/kit/secret.ts'
import { awsRequestSigner, type OutgoingRequest } from './aws.ts'
import { awsScopeOf } from './aws-host.ts'
import { googleTokens } from './google.ts'

export interface RequestAuthenticator {
  /** The body is signed: it must be whole before. */
  readonly needsBody: boolean
  /**
   * Shows in the headers of `request` who asks, in place of what they say of it. `consumed`: header lines of the client
   * that policies of the gateway have taken out (Identity.credentials). Null: done; a promise only where something has
   * to be fetched first: of what then does it, for callers who still want it. Rejects when that fails.
   */
  authorize(request: OutgoingRequest, consumed: readonly string[] | null): Promise<() => void> | null
  /** The server answered 401 or 403. Null: nothing is fetched that could have been withdrawn. */
  readonly refused: (() => void) | null
}

export interface AuthenticatedServer {
  /** '' for a unix socket. */
  readonly host: string
  readonly hasTls: boolean
}

type Kinds = {
  readonly [K in BackendAuth['kind']]: (
    auth: Extract<BackendAuth, { readonly kind: K }>,
    server: AuthenticatedServer,
    context: BackendContext
  ) => RequestAuthenticator
}

const KINDS: Kinds = { passthrough: () => PASSTHROUGH, key: withKey, aws: signing, gcp: withToken }

/** `context`: what is fetched is kept in it, and told to its log. */
export function requestAuthenticator(
  auth: BackendAuth,
  server: AuthenticatedServer,
  context: BackendContext
): RequestAuthenticator {
  return KINDS[auth.kind](auth as never, server, context)
}

const AUTHORIZATION: readonly string[] = ['authorization']

/** RFC 9110 section 11.4: a scheme, a blank and its credentials. */
const SCHEMED = /^[A-Za-z][A-Za-z0-9-]* +[!-~]/

function withKey({ key: sealed, location }: KeyAuth): RequestAuthenticator {
  const key = reveal(sealed)
  const names = location === null ? AUTHORIZATION : [location.header.toLowerCase()]
  const line = location !== null ? location.prefix + key : SCHEMED.test(key) ? key : `Bearer ${key}`
  return {
    needsBody: false,
    authorize({ headers }) {
      headers.strip(names)
      headers.append(names[0]!, line)
      return null
    },
    refused: null
  }
}

/** What a policy has taken is put back; what none has taken is there. */
const PASSTHROUGH: RequestAuthenticator = {
  needsBody: false,
  authorize({ headers }, consumed) {
    if (consumed === null) return null
    for (let i = 0; i < consumed.length; i += 2) {
      const name = consumed[i]!
      // Two lines of one name are none that a server should have to choose from.
      if (!headers.has(name)) headers.append(name, consumed[i + 1]!)
    }
    return null
  },
  refused: null
}

function withToken(auth: GcpAuth, { host }: AuthenticatedServer, context: BackendContext): RequestAuthenticator {
  const tokens = googleTokens(auth, host, context)
  const put = ({ headers }: OutgoingRequest, token: string): void => {
    headers.strip(AUTHORIZATION)
    headers.append('authorization', `Bearer ${token}`)
  }
  return {
    needsBody: false,
    authorize(request) {
      const token = tokens.get()
      if (typeof token !== 'string') return token.then((late) => () => put(request, late))
      put(request, token)
      return null
    },
    refused: () => tokens.refused()
  }
}

/** The client's own signature. Its other fields of AWS are part of what it asks, and are signed. */
const SIGNATURE_FIELDS = ['authorization', 'x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256'] as const

/** "Signature Calculations" of the S3 API reference, and "SigV4 authenticated requests for VPC Lattice". */
const UNSIGNED_BODIES = /^(?:s3|vpc-lattice-svcs)/

function signing(auth: AwsAuth, { host, hasTls }: AuthenticatedServer, context: BackendContext): RequestAuthenticator {
  const ofHost = awsScopeOf(host)
  // check.ts has seen that one of them says it.
  const scope = { region: auth.region ?? ofHost.region!, service: auth.service ?? ofHost.service! }
  // Without TLS nothing else would keep others from changing the body on its way.
  const isBodyUnsigned = hasTls && UNSIGNED_BODIES.test(scope.service)
  const signer = awsRequestSigner(auth, { ...scope, isBodyUnsigned, saysHash: true }, context)
  return {
    needsBody: !isBodyUnsigned,
    authorize(request) {
      request.headers.strip(SIGNATURE_FIELDS)
      return signer.sign(request)
    },
    refused: auth.keys === null ? () => signer.refused() : null
  }
}
