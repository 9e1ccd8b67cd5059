/** Kinds of authentication -> what does it for one provider. Secrets leave the Snapshot here. */
import type { AiAuth, AiCloud } from '#backends/llm/config/snapshot.ts'
import { providerKind } from '#backends/llm/providers/index.ts'
import type { AuthenticatorTarget } from '#backends/llm/providers/kind.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import { googleTokens } from '#backends/shared/auth/google.ts'
import { signedTokens } from '#backends/shared/auth/signed-token.ts'
import { beginAttemptHeaders } from '#engine/contract/attempt-headers.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { KeyAuth, SignedTokenAuth } from '#engine/contract/backend-auth/auth.ts'
import { reveal } from '#engine/kit/secret.ts'
import type { Authenticator } from './authenticator.ts'
import { awsAuthenticator } from './aws.ts'
import { bearing } from './bearer.ts'
import { putKey, removeKeys } from './client-key.ts'

interface Place extends AuthenticatorTarget {
  /** Of the provider. */
  readonly type: string
  readonly cloud: AiCloud | null
}

type Kinds = {
  readonly [K in AiAuth['kind']]: (
    auth: Extract<AiAuth, { readonly kind: K }>,
    place: Place,
    context: BackendContext
  ) => Authenticator
}

const KINDS: Kinds = {
  client: (_, { provider }) => passing(provider, 'client'),
  passthrough: (_, { provider }) => passing(provider, 'passthrough'),
  key: (auth, { type, cloud, provider }, context) =>
    (cloud === null ? null : providerKind(type)!.exchange?.(cloud, provider, auth, context)) ?? keyed(provider, auth),
  aws: (auth, { provider }, context) => awsAuthenticator(auth, provider, context),
  gcp: (auth, { provider, host }, context) => bearing(provider, googleTokens(auth, host, context)),
  jwtSign: (auth, { provider }) => signing(provider, auth),
  provider: ({ credentials }, place, context) => providerKind(place.type)!.authenticator!(credentials, place, context)
}

export function authenticatorFor(auth: AiAuth, place: Place, context: BackendContext): Authenticator {
  const { wantsClient, authorize, refused } = KINDS[auth.kind](auth as never, place, context)
  const authorizeAttempt: Authenticator['authorize'] = (ex, client) => {
    beginAttemptHeaders(ex)
    return authorize(ex, client)
  }
  return { wantsClient, authorize: authorizeAttempt, refused }
}

const nothing = (): void => {}

function keyed(provider: Provider, { key: sealed, location }: KeyAuth): Authenticator {
  const secret = reveal(sealed)
  const key = secret.replace(/^bearer +/i, '')
  return {
    wantsClient: false,
    authorize(ex) {
      removeKeys(ex, provider)
      if (location === null) putKey(ex, provider, key)
      else ex.request.set(location.header, location.prefix + secret)
      return null
    },
    refused: nothing
  }
}

function signing(provider: Provider, auth: SignedTokenAuth): Authenticator {
  const tokenAt = signedTokens(auth)
  return {
    wantsClient: false,
    authorize(ex) {
      removeKeys(ex, provider)
      ex.request.append('authorization', `Bearer ${tokenAt(Date.now())}`)
      return null
    },
    refused: nothing
  }
}

function passing(provider: Provider, kind: 'client' | 'passthrough'): Authenticator {
  return {
    wantsClient: true,
    authorize(ex, { inRequest, consumed }) {
      const isEmpty = inRequest.key === null && inRequest.other === null
      const { key, other } = isEmpty && kind === 'passthrough' ? consumed : inRequest
      removeKeys(ex, provider, kind)
      if (key !== null) putKey(ex, provider, key)
      // Only a server of one's own may want a user name and a password, and only who says so sends them on.
      else if (other !== null && kind === 'passthrough' && provider.takesPasswords === true) putKey(ex, provider, other)
      return null
    },
    refused: nothing
  }
}
