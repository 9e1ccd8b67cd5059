/** Providers of AWS: each request is signed (backends/shared/auth/aws.ts). */
import type { Provider } from '#backends/llm/providers/provider.ts'
import { awsCredentials, awsRequestSigner } from '#backends/shared/auth/aws.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { AwsAuth } from '#engine/contract/backend-auth/auth.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Authenticator } from './authenticator.ts'
import { removeKeys } from './client-key.ts'

/** The only one of AWS that serves models, whatever host stands before it. */
const SERVICE = 'bedrock'

export function awsAuthenticator(auth: AwsAuth, provider: Provider, context: BackendContext): Authenticator {
  const region = auth.region ?? provider.signingRegion ?? 'us-east-1'
  const signer = awsRequestSigner(awsCredentials(auth, context), { region, service: auth.service ?? SERVICE })
  return {
    wantsClient: false,
    authorize(ex) {
      removeKeys(ex, provider)
      removeForeign(ex)
      const { method, path, query, request: headers, requestBytes: body } = ex
      return signer.sign({ method, path, query, host: ex.upstreamHost ?? ex.authority, headers, body })
    },
    refused: () => signer.refused()
  }
}

/** No client says anything to AWS in the gateway's name. */
function removeForeign({ request }: Exchange): void {
  const foreign: string[] = []
  request.forEach((name) => {
    const lower = name.toLowerCase()
    if (lower.startsWith('x-amz')) foreign.push(lower)
  })
  for (const name of foreign) request.remove(name)
}
