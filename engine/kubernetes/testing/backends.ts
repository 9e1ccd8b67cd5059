/** GatewayBackend (docs/specification.md#backends). */
import { accepts, chars, refuses, SERVICE, type Table, times } from './case.ts'

const openai = { openai: { model: 'gpt-4o' } }
const provider = (fields: object) => ({ ai: { provider: fields } })
const groups = (all: readonly (readonly object[])[]) => ({ ai: { groups: all.map((providers) => ({ providers })) } })
const target = (fields: object) => ({ mcp: { targets: [{ name: 'one', ...fields }] } })
const STATIC = { static: { host: 'tools', port: 8080 } }
const named = (count: number) => times(count, (i) => ({ name: `p${i}`, ...openai }))
const ROUTING = 'mcp.sessionRouting: "Stateful"'
const KINDS = 'must have exactly one of static, dynamicForwardProxy, ai, mcp'

export const backends: Table = {
  accepted: accepts('GatewayBackend', [
    ['a server', { static: { host: 'server.example', port: 8080 }, policies: { tls: {} } }],
    [
      'any server',
      { dynamicForwardProxy: { allowAddresses: ['10.0.0.0/8', 'fd00::1'], allowHosts: ['*.example.com'] } }
    ],
    ['any server at all', { dynamicForwardProxy: {} }],
    [
      'a provider with all of its fields',
      {
        ai: {
          provider: {
            ...openai,
            host: 'models.example',
            port: 8443,
            path: '/v1/chat/completions',
            dialect: {
              base: 'vllm',
              ...{ streamOptions: true, limit: 'max_completion_tokens', thoughts: 'reasoning', needsThoughts: true },
              ...{ developer: false, textLists: false, alternating: true, effort: 'thinking', efforts: ['low'] },
              ...{ outputs: ['json_object'], forcedTool: 'any', namedTool: false, strictTools: 'alike' },
              ...{ callIds: 'alphanumeric9', seed: 'random_seed', prefill: 'prefix', refuses: ['user'] },
              ...{ refusesInMessages: ['name'], refusesInSchemas: ['$id'] }
            },
            policies: {
              auth: { key: 'secret' },
              tls: {},
              tcp: { connectTimeout: '1s' },
              ai: { modelAliases: { fast: 'gpt-4o-mini' } }
            }
          },
          unsupported: 'refuse',
          streams: { keepalive: '15s', stall: '5m', continue: 1 }
        }
      }
    ],
    [
      'providers in order of priority',
      groups([
        [
          {
            name: 'azure',
            azureopenai: { endpoint: 'a.openai.azure.com', deploymentName: 'a', apiVersion: '2024-10-21' }
          },
          { name: 'anthropic', anthropic: { model: 'claude' } },
          { name: 'gemini', gemini: { model: 'gemini' } }
        ],
        [
          { name: 'vertex', vertexai: { model: 'gemini', projectId: 'project', region: 'us-central1' } },
          {
            name: 'bedrock',
            bedrock: {
              model: 'nova',
              region: 'eu-west-1',
              api: 'converse',
              guardrail: { identifier: 'a', version: '1' }
            }
          },
          { name: 'cohere', cohere: { model: 'command', api: 'v2' } },
          {
            name: 'watsonx',
            watsonx: {
              model: 'm',
              projectId: 'p',
              region: 'eu-de',
              apiVersion: '2025-04-23',
              iamUrl: 'https://iam.test'
            }
          },
          {
            name: 'space',
            watsonx: { spaceId: 's', region: 'us-south', apiVersion: '2025-04-23', iamUrl: 'https://iam.cloud.ibm.com' }
          },
          {
            name: 'sagemaker',
            sagemaker: { model: 'e', region: 'eu-west-1', inferenceComponent: 'c', servedModel: 'meta/llama' }
          },
          { name: 'replicate', replicate: { model: 'meta/llama' } },
          { name: 'own', custom: { model: 'llama', formats: ['completions'] }, host: 'vllm', port: 8000 }
        ]
      ])
    ],
    [
      'providers by their neutral names',
      groups([
        [
          { name: 'a', typeA: { model: 'gpt-4o' } },
          { name: 'b', typeAHosted: { endpoint: 'https://a.openai.azure.com', deploymentName: 'a', apiVersion: 'v1' } },
          { name: 'c', typeB: { model: 'claude' } },
          { name: 'd', typeC: { model: 'gemini' } },
          { name: 'e', typeCCloud: { model: 'gemini', projectId: 'project', region: 'us-central1' } },
          {
            name: 'f',
            typeD: { model: 'nova', region: 'us-east-1', api: 'converse', guardrail: { identifier: 'a', version: '1' } }
          }
        ]
      ])
    ],
    [
      'providers by their defaults',
      groups([
        [
          { name: 'a', bedrock: {} },
          { name: 'b', azureopenai: { endpoint: 'a.openai.azure.com' } }
        ]
      ]),
      [
        'ai.groups[0].providers[0].bedrock.api: "converse"',
        'ai.groups[0].providers[0].bedrock.region: "us-east-1"',
        'ai.groups[0].providers[1].azureopenai.apiVersion: "v1"'
      ]
    ],
    [
      'MCP servers',
      {
        mcp: {
          targets: [
            {
              name: 'one',
              static: {
                host: 'tools',
                port: 8080,
                path: '/mcp',
                protocol: 'StreamableHTTP',
                policies: {
                  auth: { passthrough: {} },
                  tls: {},
                  mcp: { authorization: { policy: { matchExpressions: ['true'] } } }
                }
              }
            },
            {
              name: 'two',
              selector: {
                namespaces: { matchLabels: { team: 'a' } },
                services: {
                  matchLabels: { app: 'mcp' },
                  matchExpressions: [
                    { key: 'tier', operator: 'In', values: ['a'] },
                    { key: 'old', operator: 'DoesNotExist' }
                  ]
                }
              }
            }
          ],
          sessionRouting: 'Stateless',
          prefixMode: 'always',
          failureMode: 'FailOpen',
          session: { idleTimeout: '30m', anonymous: 'PerRequest' },
          targetTimeout: '30s',
          forwardHeaders: ['x-tenant'],
          maxMessageSize: 1_048_576
        }
      },
      ['mcp.targets[0].static.policies.mcp.authorization.action: "Allow"']
    ],
    ['MCP servers by their defaults', target(STATIC), [ROUTING]],
    [
      'policies of a backend',
      {
        ...provider(openai),
        policies: {
          ai: { promptGuard: { request: [{ webhook: { backendRef: SERVICE } }] } },
          auth: { secretRef: { name: 'key' } }
        }
      }
    ]
  ]),
  refused: refuses('GatewayBackend', [
    ['no kind', {}, '', KINDS],
    ['two kinds', { static: { host: 'a', port: 1 }, dynamicForwardProxy: {} }, '', KINDS],
    ['a server without a host', { static: { port: 80 } }, 'static.host', 'Required'],
    ['a server without a port', { static: { host: 'a' } }, 'static.port', 'Required'],
    ['a server without a name', { static: { host: '', port: 80 } }, 'static.host', 'should be at least 1 chars'],
    ['a host that is too long', { static: { host: chars(257), port: 80 } }, 'static.host', 'may not be more than 256'],
    ['port 0', { static: { host: 'a', port: 0 } }, 'static.port', 'greater than or equal to 1'],
    ['port 65536', { static: { host: 'a', port: 65_536 } }, 'static.port', 'less than or equal to 65535'],
    ['no policies', { static: { host: 'a', port: 1 }, policies: {} }, 'policies', 'must have at least one of'],
    [
      'what is no address',
      { dynamicForwardProxy: { allowAddresses: ['here'] } },
      'dynamicForwardProxy.allowAddresses[0]',
      'must be an address or a range'
    ],
    ['models of nobody', { ai: {} }, 'ai', 'must have exactly one of provider, groups'],
    [
      'models of two',
      { ai: { provider: openai, groups: [{ providers: named(1) }] } },
      'ai',
      'must have exactly one of provider, groups'
    ],
    ['no groups', { ai: { groups: [] } }, 'ai.groups', 'should have at least 1 items'],
    ['too many groups', groups(named(33).map((one) => [one])), 'ai.groups', 'must have at most 32 items'],
    ['a group of nobody', groups([[]]), 'ai.groups[0].providers', 'should have at least 1 items'],
    ['a group without providers', { ai: { groups: [{}] } }, 'ai.groups[0].providers', 'Required'],
    ['a group of too many', groups([named(33)]), 'ai.groups[0].providers', 'must have at most 32 items'],
    ['a provider without a name', groups([[openai]]), 'ai.groups[0].providers[0].name', 'Required'],
    [
      'a name twice in a group',
      groups([[...named(1), ...named(1)]]),
      'ai.groups',
      'names of providers must be unique across all groups'
    ],
    [
      'a name twice in two groups',
      groups([named(2), named(1)]),
      'ai.groups',
      'names of providers must be unique across all groups'
    ],
    [
      'a provider of no kind',
      provider({ host: 'a' }),
      'ai.provider',
      'must have exactly one of openai, azureopenai, anthropic, gemini, vertexai, bedrock, cohere, watsonx, sagemaker, replicate, custom'
    ],
    ['a provider of two kinds', provider({ ...openai, bedrock: {} }), 'ai.provider', 'must have exactly one of openai'],
    [
      'a provider twice, once by its neutral name',
      provider({ ...openai, typeA: {} }),
      'ai.provider',
      'must have exactly one of openai'
    ],
    [
      'a model without a name',
      provider({ openai: { model: '' } }),
      'ai.provider.openai.model',
      'should be at least 1 chars'
    ],
    [
      'a model that is too long',
      provider({ anthropic: { model: chars(257) } }),
      'ai.provider.anthropic.model',
      'may not be more than 256'
    ],
    [
      'a provider at a long host',
      provider({ ...openai, host: chars(257) }),
      'ai.provider.host',
      'may not be more than 256'
    ],
    ['a provider at port 0', provider({ ...openai, port: 0 }), 'ai.provider.port', 'greater than or equal to 1'],
    [
      'a path that is too long',
      provider({ ...openai, path: `/${chars(1024)}` }),
      'ai.provider.path',
      'may not be more than 1024'
    ],
    ['Azure without an endpoint', provider({ azureopenai: {} }), 'ai.provider.azureopenai.endpoint', 'Required'],
    [
      'Azure by date without a deployment',
      provider({ azureopenai: { endpoint: 'a', apiVersion: '2024-10-21' } }),
      'ai.provider.azureopenai.deploymentName',
      'is required'
    ],
    [
      'the same by its neutral name',
      provider({ typeAHosted: { endpoint: 'a', apiVersion: '2024-10-21' } }),
      'ai.provider.typeAHosted.deploymentName',
      'is required'
    ],
    [
      'a version that is too long',
      provider({ azureopenai: { endpoint: 'a', apiVersion: chars(65) } }),
      'ai.provider.azureopenai.apiVersion',
      'may not be more than 64'
    ],
    ['Vertex without a project', provider({ vertexai: { region: 'a' } }), 'ai.provider.vertexai.projectId', 'Required'],
    ['Vertex without a region', provider({ vertexai: { projectId: 'a' } }), 'ai.provider.vertexai.region', 'Required'],
    [
      'a project that is too long',
      provider({ vertexai: { projectId: chars(65), region: 'a' } }),
      'ai.provider.vertexai.projectId',
      'may not be more than 64'
    ],
    ['a region in capitals', provider({ bedrock: { region: 'EU' } }), 'ai.provider.bedrock.region', 'should match'],
    [
      'a region that is too long',
      provider({ typeD: { region: chars(64) } }),
      'ai.provider.typeD.region',
      'may not be more than 63'
    ],
    [
      'a guardrail without a version',
      provider({ bedrock: { guardrail: { identifier: 'a' } } }),
      'ai.provider.bedrock.guardrail.version',
      'Required'
    ],
    [
      'a guardrail without a name',
      provider({ bedrock: { guardrail: { version: '1' } } }),
      'ai.provider.bedrock.guardrail.identifier',
      'Required'
    ],
    [
      'a guardrail with the API that takes none',
      provider({ bedrock: { api: 'invoke', guardrail: { identifier: 'a', version: '1' } } }),
      'ai.provider.bedrock.guardrail',
      'goes with api: converse'
    ],
    [
      'a server of models without a host',
      provider({ custom: {} }),
      'ai.provider.host',
      'is required for a custom provider'
    ],
    [
      'a dialect of another format',
      provider({ anthropic: {}, dialect: { base: 'vllm' } }),
      'ai.provider.dialect',
      'only they are asked in the format of chat completions'
    ],
    [
      'policies of a provider that say nothing',
      provider({ ...openai, policies: {} }),
      'ai.provider.policies',
      'must have at least one of'
    ],
    ['MCP without targets', { mcp: {} }, 'mcp.targets', 'Required'],
    ['no targets', { mcp: { targets: [] } }, 'mcp.targets', 'should have at least 1 items'],
    [
      'too many targets',
      { mcp: { targets: times(33, (i) => ({ name: `t${i}`, ...STATIC })) } },
      'mcp.targets',
      'must have at most 32 items'
    ],
    [
      'a target twice',
      { mcp: { targets: times(2, () => ({ name: 'one', ...STATIC })) } },
      'mcp.targets',
      'names of targets must be unique'
    ],
    ['a target without a name', { mcp: { targets: [STATIC] } }, 'mcp.targets[0].name', 'Required'],
    ['a target of no kind', target({}), 'mcp.targets[0]', 'must have exactly one of static, selector'],
    [
      'a target of two kinds',
      target({ ...STATIC, selector: { services: {} } }),
      'mcp.targets[0]',
      'must have exactly one of static, selector'
    ],
    [
      'a selector of nothing',
      target({ selector: {} }),
      'mcp.targets[0].selector',
      'must have at least one of namespaces, services'
    ],
    [
      'a requirement without values',
      target({ selector: { services: { matchExpressions: [{ key: 'a', operator: 'In' }] } } }),
      'mcp.targets[0].selector.services.matchExpressions[0].values',
      'is required for In and NotIn'
    ],
    ['a target without a host', target({ static: { port: 1 } }), 'mcp.targets[0].static.host', 'Required'],
    ['a target without a port', target({ static: { host: 'a' } }), 'mcp.targets[0].static.port', 'Required'],
    [
      'a target at a long path',
      target({ static: { host: 'a', port: 1, path: `/${chars(1024)}` } }),
      'mcp.targets[0].static.path',
      'may not be more than 1024'
    ],
    [
      'a protocol that is not known',
      target({ static: { host: 'a', port: 1, protocol: 'WebSocket' } }),
      'mcp.targets[0].static.protocol',
      'supported values: "StreamableHTTP", "SSE"'
    ],
    ['a program', target({ stdio: { cmd: 'tool' } }), 'mcp.targets[0].stdio', 'unknown field'],
    [
      'a routing that is not known',
      { mcp: { targets: [{ name: 'one', ...STATIC }], sessionRouting: 'Sticky' } },
      'mcp.sessionRouting',
      'supported values: "Stateful", "Stateless"'
    ]
  ])
}
