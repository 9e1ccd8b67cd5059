/** Sections 2.4 and 2.6: who the gateway is to clouds. The echo stands in for them and prints what it was shown. */
import { accepted, applied, askOf, body, logged, manifests, refused } from './commands.ts'
import { CHAT } from './requests.ts'
import { awaited, type Command, type Step, seen } from './steps.ts'

const WIDE = askOf('wide')
/** A model is asked, and this is what the echo got. */
const modelRequest = (path: string, shows: RegExp): readonly Command[] => [
  body(path, CHAT('small', 'Hi'), /Hello[\s\S]*200$/, WIDE),
  logged('echo', shows)
]

export const CLOUDS: Step = {
  title: '2.4 and 2.6 auth of clouds, with keys',
  text: 'The echo judges signatures by the signer of AWS itself. Azure and Gemini read keys from fields of their own.',
  files: manifests('cloud', 'no-cloud'),
  commands: [
    applied('cloud'),
    refused('no-cloud'),
    accepted('gatewaybackends', ['aws', 'azure', 'azure-v1', 'bedrock', 'cloud-d', 'gemini']),
    body('/aws', '-d text', /\/eu-west-1\/execute-api\/.*signature: as AWS makes it[\s\S]*200$/, WIDE),
    body('/cloud-d', '-d text', /\/eu-west-1\/lambda\/.*signature: as AWS makes it[\s\S]*200$/, WIDE),
    ...modelRequest(
      '/bedrock',
      /POST \/model\/amazon.nova-lite-v1[^ ]*\/converse .*\/eu-central-1\/bedrock\/.*as AWS makes it/
    ),
    ...modelRequest(
      '/azure',
      /POST \/openai\/deployments\/small\/chat\/completions\?api-version=2024-10-21 .*api-key: key-of-azure/
    ),
    ...modelRequest('/azure-v1', /POST \/openai\/v1\/chat\/completions .*api-key: key-of-azure/),
    ...modelRequest('/gemini', /POST \S*gemini-3-flash:generateContent .*x-goog-api-key: key-of-google/)
  ]
}

const condition = (backend: string, shows: RegExp): Command =>
  awaited(
    `kubectl -n chat get gatewaybackend ${backend} -o jsonpath='{.status.conditions[0].reason}: {.status.conditions[0].message}'`,
    shows
  )

export const IDENTITIES: Step = {
  title: '2.6 auth of clouds, with the identity of the node',
  text: 'Without keys the data plane shows who it is itself, by the metadata service of its node, which is played at 169.254.169.254. To a host of a tenant that is refused, until the administrators of the cluster allow it for the namespace.',
  files: manifests('identity'),
  commands: [
    applied('identity'),
    condition('gcp', /data plane's own identity/),
    condition('aws-chain', /data plane's own identity/),
    body('/gcp', '', /5\d\d$/, WIDE),
    seen('kubectl label namespace chat weir.dev/cloud-identity=true', /labeled/),
    accepted('gatewaybackends', ['aws-chain', 'cloud-c', 'gcp', 'gcp-id', 'vertex']),
    body(
      '/aws-chain',
      '-d text',
      /x-amz-security-token: of-the-node.*\/eu-west-1\/execute-api\/.*as AWS makes it[\s\S]*200$/,
      WIDE
    ),
    body('/gcp', '', /authorization: Bearer ya29.of-the-node[\s\S]*200$/, WIDE),
    body('/gcp-id', '', /id token for https:\/\/echo.chat.svc.cluster.local[\s\S]*200$/, WIDE),
    body('/cloud-c', '', /id token for https:\/\/run.example[\s\S]*200$/, WIDE),
    ...modelRequest(
      '/vertex',
      /POST \/v1\/projects\/one\/locations\/us-central1\/.*gemini-3-flash:generateContent .*Bearer ya29.of-the-node/
    )
  ]
}
