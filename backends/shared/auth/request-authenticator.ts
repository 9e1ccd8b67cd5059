/** The policy `auth` of backends that are servers: adds credentials to each request. */
import type { BackendContext } from '#engine/contract/backend.ts'
import type { AwsAuth, BackendAuth, GcpAuth, KeyAuth, SignedTokenAuth } from '#engine/contract/backend-auth/auth.ts'
import { reveal } from '#engine/kit/secret.ts'
import { type AwsCredentials, awsCredentials, awsRequestSigner, type OutgoingRequest } from './aws.ts'
import { awsScopeOf } from './aws-host.ts'
import { googleTokens } from './google.ts'
import { signedTokens } from './signed-token.ts'

export interface RequestAuthenticator {
  /** The signature covers the body, so it must be whole first. */
  readonly needsBody: boolean
  /**
   * Replaces the credentials in the headers of `request`. `consumed`: header lines of the client that policies of the
   * gateway have removed (Identity.credentials). Null: done. A promise where a token or keys must be fetched first: it
   * resolves to a function that does it, so that a caller may drop the request meanwhile, or rejects.
   */
  authorize(request: OutgoingRequest, consumed: readonly string[] | null): Promise<() => void> | null
  /** Called when the server answers 401 or 403. Null: the credentials are fixed, so none can be fetched anew. */
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
    host: string | null,
    context: BackendContext
  ) => AuthenticatorOf
}

type AuthenticatorOf = (server: AuthenticatedServer) => RequestAuthenticator

const KINDS: Kinds = {
  passthrough: () => () => PASSTHROUGH,
  ...{ key: withKey, aws: signing, gcp: withToken, jwtSign: withSignedToken }
}

/** As `authenticatorsFor`, for one server that the configuration names. */
export function requestAuthenticator(
  auth: BackendAuth,
  server: AuthenticatedServer,
  context: BackendContext
): RequestAuthenticator {
  return authenticatorsFor(auth, server.host, context)(server)
}

/**
 * To be called while a backend is compiled; what it returns may be called later, too. Fetched credentials end with the
 * last configuration that uses them, and the log of `context` gets failures. `host` null: clients name the server.
 */
export function authenticatorsFor(auth: BackendAuth, host: string | null, context: BackendContext): AuthenticatorOf {
  return KINDS[auth.kind](auth as never, host, context)
}

const AUTHORIZATION: readonly string[] = ['authorization']

/** RFC 9110 section 11.4: a scheme, a blank and its credentials. */
const SCHEMED = /^[A-Za-z][A-Za-z0-9-]* +[!-~]/

function withKey({ key: sealed, location }: KeyAuth): AuthenticatorOf {
  const key = reveal(sealed)
  const names = location === null ? AUTHORIZATION : [location.header.toLowerCase()]
  const line = location !== null ? location.prefix + key : SCHEMED.test(key) ? key : `Bearer ${key}`
  const authenticator: RequestAuthenticator = {
    needsBody: false,
    authorize({ headers }) {
      headers.strip(names)
      headers.append(names[0]!, line)
      return null
    },
    refused: null
  }
  return () => authenticator
}

/** Puts back what policies have removed. */
const PASSTHROUGH: RequestAuthenticator = {
  needsBody: false,
  authorize({ headers }, consumed) {
    if (consumed === null) return null
    for (let i = 0; i < consumed.length; i += 2) {
      const name = consumed[i]!
      // A server must not have to choose from two lines of one name.
      if (!headers.has(name)) headers.append(name, consumed[i + 1]!)
    }
    return null
  },
  refused: null
}

function withToken(auth: GcpAuth, host: string | null, context: BackendContext): AuthenticatorOf {
  const tokens = googleTokens(auth, host, context)
  const put = ({ headers }: OutgoingRequest, token: string): void => {
    headers.strip(AUTHORIZATION)
    headers.append('authorization', `Bearer ${token}`)
  }
  const authenticator: RequestAuthenticator = {
    needsBody: false,
    authorize(request) {
      const token = tokens.get()
      if (typeof token !== 'string') return token.then((late) => () => put(request, late))
      put(request, token)
      return null
    },
    refused: () => tokens.refused()
  }
  return () => authenticator
}

function withSignedToken(auth: SignedTokenAuth): AuthenticatorOf {
  const tokenAt = signedTokens(auth)
  const authenticator: RequestAuthenticator = {
    needsBody: false,
    authorize({ headers }) {
      headers.strip(AUTHORIZATION)
      headers.append('authorization', `Bearer ${tokenAt(Date.now())}`)
      return null
    },
    refused: null
  }
  return () => authenticator
}

/** Fields of the client's own signature. Its other x-amz fields are part of the request, and are signed. */
const SIGNATURE_FIELDS = ['authorization', 'x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256'] as const

/** "Signature Calculations" of the S3 API reference, and "SigV4 authenticated requests for VPC Lattice". */
const UNSIGNED_BODIES = /^(?:s3|vpc-lattice-svcs)/

function signing(auth: AwsAuth, _host: string | null, context: BackendContext): AuthenticatorOf {
  const credentials = awsCredentials(auth, context)
  return (server) => signingFor(auth, server, credentials)
}

function signingFor(
  auth: AwsAuth,
  { host, hasTls }: AuthenticatedServer,
  credentials: AwsCredentials
): RequestAuthenticator {
  const ofHost = awsScopeOf(host)
  // check.ts requires that the host or the policy names both.
  const scope = { region: auth.region ?? ofHost.region!, service: auth.service ?? ofHost.service! }
  // Without TLS only the signature protects the body on its way.
  const isBodyUnsigned = hasTls && UNSIGNED_BODIES.test(scope.service)
  const signer = awsRequestSigner(credentials, { ...scope, isBodyUnsigned, saysHash: true })
  return {
    needsBody: !isBodyUnsigned,
    authorize(request) {
      request.headers.strip(SIGNATURE_FIELDS)
      return signer.sign(request)
    },
    refused: auth.keys === null ? () => signer.refused() : null
  }
}
