/** Providers of AWS: each request is signed (backends/shared/auth/aws.ts). */
import type { Provider } from '#backends/llm/providers/provider.ts'
import { awsCredentials, awsRequestSigner } from '#backends/shared/auth/aws.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { AwsAuth } from '#engine/contract/backend-auth/auth.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Authenticator } from './authenticator.ts'
import { removeKeys } from './client-key.ts'

/** Of providers that are not of AWS, behind a host that asks for its signatures. */
const OTHERS = { region: 'us-east-1', service: 'bedrock' } as const

export function awsAuthenticator(auth: AwsAuth, provider: Provider, context: BackendContext): Authenticator {
  const { region, service } = provider.signing ?? OTHERS
  const scope = { region: auth.region ?? region, service: auth.service ?? service }
  const signer = awsRequestSigner(awsCredentials(auth, context), scope)
  const own = ownFields(provider)
  return {
    wantsClient: false,
    authorize(ex) {
      removeKeys(ex, provider)
      removeForeign(ex)
      for (const [name, value] of own) ex.request.append(name, value)
      const { method, path, query, request: headers, requestBytes: body } = ex
      return signer.sign({ method, path, query, host: ex.upstreamHost ?? ex.authority, headers, body })
    },
    refused: () => signer.refused()
  }
}

/** What the configuration says to AWS. */
function ownFields({ fields }: Provider): readonly (readonly [name: string, value: string])[] {
  const pairs = fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]!] as const] : []))
  return pairs.filter(([name]) => isOfAws(name.toLowerCase()))
}

const isOfAws = (lower: string): boolean => lower.startsWith('x-amz')

/** No client says anything to AWS in the gateway's name. */
function removeForeign({ request }: Exchange): void {
  const foreign: string[] = []
  request.forEach((name) => {
    const lower = name.toLowerCase()
    if (isOfAws(lower)) foreign.push(lower)
  })
  for (const name of foreign) request.remove(name)
}
