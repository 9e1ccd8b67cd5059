/** Policies of models and of MCP servers (docs/specification.md#policies-for-models, #mcp-policies). */
import { accepts, backend, chars, entries, refuses, SERVICE, type Table, times } from './case.ts'

const REGEX = { regex: { builtins: ['Ssn'] } }
const WEBHOOK = { webhook: { backendRef: SERVICE } }
const RULES = { policy: { matchExpressions: ['mcp.tool.name == "add"'] } }
const MCP_AUTH = { issuer: 'https://issuer.example', jwks: { jwksPath: 'keys', backendRef: SERVICE } }

const ai = (fields: object) => backend({ ai: fields })
const mcp = (fields: object) => backend({ mcp: fields })
const guard = (fields: object) => ai({ promptGuard: fields })

export const models: Table = {
  accepted: accepts('GatewayPolicy', [
    [
      'models',
      ai({
        defaults: [{ field: 'temperature', value: 0.5 }],
        overrides: [{ field: 'metadata', value: { tags: ['a', null] } }],
        prompt: { prepend: [{ role: 'system', content: 'Be brief.' }], append: [{ role: 'user', content: 'Thanks.' }] },
        promptCaching: { cacheSystem: true, cacheMessages: false, cacheTools: true, minTokens: 0 },
        modelAliases: { fast: 'gpt-4o-mini' },
        routes: {
          '/v1/chat/completions': 'Completions',
          '/v1/messages': 'Messages',
          '/v1/models': 'Models',
          '/v1/responses': 'Responses',
          '/v1/embeddings': 'Embeddings',
          '/count_tokens': 'AnthropicTokenCount',
          '/v1/realtime': 'Realtime',
          '*': 'Passthrough'
        }
      })
    ],
    [
      'the cache of prompts by its defaults',
      ai({ promptCaching: {} }),
      [
        'backend.ai.promptCaching.cacheMessages: true',
        'backend.ai.promptCaching.cacheSystem: true',
        'backend.ai.promptCaching.cacheTools: false',
        'backend.ai.promptCaching.minTokens: 1024'
      ]
    ],
    [
      'guards',
      guard({
        request: [
          {
            regex: {
              matches: ['[0-9]+'],
              builtins: ['Ssn', 'CreditCard', 'PhoneNumber', 'Email', 'CaSin'],
              action: 'Reject'
            },
            response: { message: 'no', statusCode: 400 }
          },
          {
            webhook: {
              backendRef: SERVICE,
              forwardHeaderMatches: [{ type: 'RegularExpression', name: 'x-a', value: '.*' }],
              failureMode: 'FailOpen',
              timeout: '1s'
            }
          },
          {
            openAIModeration: {
              model: 'omni-moderation-latest',
              host: 'moderation.example',
              port: 8443,
              path: '/v1/moderations',
              policies: { auth: { key: 'secret' }, tls: { sni: 'a.example' }, tcp: { connectTimeout: '1s' } },
              failureMode: 'FailClosed',
              timeout: '5s'
            }
          },
          { typeAModeration: { backendRef: SERVICE } },
          {
            azureContentSafety: {
              endpoint: 'name.cognitiveservices.azure.com',
              analyzeText: {
                severityThreshold: 4,
                categories: ['Hate', 'SelfHarm', 'Sexual', 'Violence'],
                blocklistNames: ['words'],
                haltOnBlocklistHit: true,
                outputType: 'EightSeverityLevels'
              },
              detectJailbreak: {},
              policies: { auth: { key: 'secret' } },
              failureMode: 'FailOpen',
              timeout: '5s'
            }
          },
          {
            bedrockGuardrails: {
              guardrailIdentifier: 'abc1',
              guardrailVersion: '2',
              region: 'us-west-2',
              policies: { tls: { sni: 'a.example' } },
              failureMode: 'FailOpen',
              timeout: '5s'
            }
          },
          {
            googleModelArmor: {
              templateId: 't-1',
              projectId: 'p-1',
              location: 'us-central1',
              policies: { tls: { sni: 'a.example' } },
              failureMode: 'FailOpen',
              timeout: '5s'
            }
          }
        ],
        response: [
          { ...REGEX, response: { message: 'no' } },
          WEBHOOK,
          {
            azureContentSafety: {
              backendRef: SERVICE,
              analyzeText: { severityThreshold: 4 },
              failureMode: 'FailOpen',
              timeout: '5s'
            }
          },
          { bedrockGuardrails: { guardrailIdentifier: 'abc1', guardrailVersion: 'DRAFT', backendRef: SERVICE } },
          { googleModelArmor: { templateId: 't', projectId: 'p', location: 'us-central1', backendRef: SERVICE } }
        ]
      }),
      ['backend.ai.promptGuard.response[0].regex.action: "Mask"']
    ],
    ['rules of tools', mcp({ authorization: { ...RULES, action: 'Require' } })],
    [
      'tokens for tools',
      mcp({
        authentication: {
          issuer: 'https://issuer.example',
          audiences: ['edge'],
          jwks: { jwksPath: 'keys', backendRef: SERVICE, cacheDuration: '1m' },
          mode: 'Optional',
          provider: 'IdpB',
          authorizationServer: 'Gateway',
          resourceMetadata: { resource: 'https://edge.example/mcp', scopesSupported: ['read'] },
          requiredScopes: ['read'],
          clientId: 'edge',
          leeway: '10s',
          jwtValidationOptions: { requiredClaims: ['sub'] }
        }
      })
    ],
    [
      'tokens for tools by their defaults',
      mcp({ authentication: { ...MCP_AUTH, provider: 'Auth0' } }),
      ['backend.mcp.authentication.jwks.cacheDuration: "5m"', 'backend.mcp.authentication.mode: "Strict"']
    ]
  ]),
  refused: refuses('GatewayPolicy', [
    ['models without a field', ai({}), 'backend.ai', 'must have at least one of'],
    ['no defaults', ai({ defaults: [] }), 'backend.ai.defaults', 'should have at least 1 items'],
    [
      'too many defaults',
      ai({ defaults: times(65, (i) => ({ field: `a${i}`, value: 1 })) }),
      'backend.ai.defaults',
      'must have at most 64 items'
    ],
    [
      'too many overrides',
      ai({ overrides: times(65, (i) => ({ field: `a${i}`, value: 1 })) }),
      'backend.ai.overrides',
      'must have at most 64 items'
    ],
    ['a default without a field', ai({ defaults: [{ value: 1 }] }), 'backend.ai.defaults[0].field', 'Required'],
    ['a default without a value', ai({ defaults: [{ field: 'a' }] }), 'backend.ai.defaults[0].value', 'Required'],
    [
      'too many aliases',
      ai({ modelAliases: entries(65, 'a') }),
      'backend.ai.modelAliases',
      'must have at most 64 items'
    ],
    [
      'a message of nobody',
      ai({ prompt: { prepend: [{ content: 'a' }] } }),
      'backend.ai.prompt.prepend[0].role',
      'Required'
    ],
    [
      'a message of nothing',
      ai({ prompt: { append: [{ role: 'user' }] } }),
      'backend.ai.prompt.append[0].content',
      'Required'
    ],
    [
      'less than no tokens',
      ai({ promptCaching: { minTokens: -1 } }),
      'backend.ai.promptCaching.minTokens',
      'greater than or equal to 0'
    ],
    ['a route type that is not known', ai({ routes: { '*': 'Chat' } }), 'backend.ai.routes.*', 'Unsupported value'],
    ['a pattern of paths', ai({ routes: { '/v1/*': 'Completions' } }), 'backend.ai.routes', 'none of which has a *'],
    ['no guards', guard({}), 'backend.ai.promptGuard', 'must have at least one of request, response'],
    [
      'an empty list of guards',
      guard({ request: [] }),
      'backend.ai.promptGuard.request',
      'should have at least 1 items'
    ],
    [
      'too many guards',
      guard({ request: times(9, () => REGEX) }),
      'backend.ai.promptGuard.request',
      'must have at most 8 items'
    ],
    [
      'too many guards of answers',
      guard({ response: times(9, () => REGEX) }),
      'backend.ai.promptGuard.response',
      'must have at most 8 items'
    ],
    [
      'a guard of nothing',
      guard({ request: [{}] }),
      'backend.ai.promptGuard.request[0]',
      'must have exactly one of regex, webhook, openAIModeration, bedrockGuardrails, azureContentSafety, googleModelArmor'
    ],
    [
      'two guards in one',
      guard({ request: [{ ...REGEX, ...WEBHOOK }] }),
      'backend.ai.promptGuard.request[0]',
      'must have exactly one of regex, webhook, openAIModeration, bedrockGuardrails, azureContentSafety, googleModelArmor'
    ],
    [
      'a moderation twice',
      guard({ request: [{ typeAModeration: {}, openAIModeration: {} }] }),
      'backend.ai.promptGuard.request[0]',
      'must have exactly one of regex, webhook, openAIModeration, bedrockGuardrails, azureContentSafety, googleModelArmor'
    ],
    [
      'two guards of answers in one',
      guard({ response: [{ ...REGEX, ...WEBHOOK }] }),
      'backend.ai.promptGuard.response[0]',
      'must have exactly one of regex, webhook, bedrockGuardrails, azureContentSafety, googleModelArmor'
    ],
    [
      'moderation of answers',
      guard({ response: [{ ...REGEX, openAIModeration: {} }] }),
      'backend.ai.promptGuard.response[0].openAIModeration',
      'unknown field'
    ],
    [
      'an answer of nothing',
      guard({ request: [{ ...REGEX, response: {} }] }),
      'backend.ai.promptGuard.request[0].response',
      'must have at least one of message, statusCode'
    ],
    [
      'an interim status',
      guard({ request: [{ ...REGEX, response: { statusCode: 199 } }] }),
      'backend.ai.promptGuard.request[0].response.statusCode',
      'greater than or equal to 200'
    ],
    [
      'a status of nobody',
      guard({ request: [{ ...REGEX, response: { statusCode: 600 } }] }),
      'backend.ai.promptGuard.request[0].response.statusCode',
      'less than or equal to 599'
    ],
    [
      'patterns of nothing',
      guard({ request: [{ regex: {} }] }),
      'backend.ai.promptGuard.request[0].regex',
      'must have at least one of builtins, matches'
    ],
    [
      'a pattern that is too long',
      guard({ request: [{ regex: { matches: [chars(1025)] } }] }),
      'backend.ai.promptGuard.request[0].regex.matches[0]',
      'may not be more than 1024'
    ],
    [
      'a builtin that is not known',
      guard({ request: [{ regex: { builtins: ['Name'] } }] }),
      'backend.ai.promptGuard.request[0].regex.builtins[0]',
      'Unsupported value'
    ],
    [
      'an action that is not known',
      guard({ request: [{ regex: { builtins: ['Ssn'], action: 'Drop' } }] }),
      'backend.ai.promptGuard.request[0].regex.action',
      'supported values: "Mask", "Reject"'
    ],
    [
      'nobody to ask',
      guard({ request: [{ webhook: {} }] }),
      'backend.ai.promptGuard.request[0].webhook.backendRef',
      'Required'
    ],
    ['MCP without a field', mcp({}), 'backend.mcp', 'must have at least one of authorization, authentication'],
    ['tools without rules', mcp({ authorization: {} }), 'backend.mcp.authorization.policy', 'Required'],
    [
      'tokens without keys',
      mcp({ authentication: { issuer: 'https://a.example' } }),
      'backend.mcp.authentication.jwks',
      'Required'
    ],
    [
      'tokens of nobody',
      mcp({ authentication: { jwks: MCP_AUTH.jwks } }),
      'backend.mcp.authentication.issuer',
      'Required'
    ],
    [
      'an issuer that is no URL',
      mcp({ authentication: { ...MCP_AUTH, issuer: 'issuer' } }),
      'backend.mcp.authentication.issuer',
      'URL of the issuer'
    ],
    [
      'a provider that is not known',
      mcp({ authentication: { ...MCP_AUTH, provider: 'Okta' } }),
      'backend.mcp.authentication.provider',
      'supported values: "Auth0", "Keycloak", "IdpA", "IdpB"'
    ],
    [
      'no audiences',
      mcp({ authentication: { ...MCP_AUTH, audiences: [] } }),
      'backend.mcp.authentication.audiences',
      'should have at least 1 items'
    ],
    [
      'too many audiences',
      mcp({ authentication: { ...MCP_AUTH, audiences: times(65, (i) => `a${i}`) } }),
      'backend.mcp.authentication.audiences',
      'must have at most 64 items'
    ],
    [
      'a mode that is not known',
      mcp({ authentication: { ...MCP_AUTH, mode: 'Lax' } }),
      'backend.mcp.authentication.mode',
      'Unsupported value'
    ]
  ])
}
