/** The specification's tables of backends for models and MCP servers. */
import {
  BACKEND,
  cel,
  letters,
  NAME_LONG,
  NO_DURATION,
  type Place,
  ROUTE,
  type Row,
  type Table,
  times,
  walk
} from '#engine/testing/spec-table.ts'

const EMPTY = 'must not be empty'
const entries = (min: number, max: number) => `must have ${min} to ${max} entries`
const chars = (max: number) => `must have at most ${max} characters`
/** Where the specification has no bound, this many are accepted. */
const MANY = 1024

/** A text of 1 to `max` characters at `at`. */
const text = (max: number, at: string, of: (value: unknown) => unknown): Row => [
  [of('a'), of(letters(max))],
  [
    [of(''), `${at}: ${EMPTY}`],
    [of(letters(max + 1)), `${at}: ${chars(max)}`],
    [of(5), `${at}: must be a text, not 5`]
  ]
]

// --- 2.3, 2.4: backends and providers ---

const PROVIDER: Place = {
  path: 'backends[0].ai.provider.',
  file: (provider) => ({ backends: [{ name: 'b', ai: { provider } }] })
}
const AZURE = { endpoint: 'a.test', apiVersion: 'v1' }
const VERTEX = { projectId: 'p', region: 'r' }
const guardrail = (fields: object) => ({ bedrock: { guardrail: fields } })

const PROVIDERS: Table = {
  'LLMProvider: exactly one provider': [
    [{ typeA: {} }, { openai: {} }, { typeB: {} }, { typeC: {} }, { typeD: {} }],
    []
  ],
  'typeA.model: ShortString': text(256, 'openai.model', (model) => ({ openai: { model } })),
  'typeB.model: ShortString': text(256, 'anthropic.model', (model) => ({ anthropic: { model } })),
  'typeC.model: ShortString': text(256, 'gemini.model', (model) => ({ gemini: { model } })),
  'typeD.model: ShortString': text(256, 'bedrock.model', (model) => ({ bedrock: { model } })),
  'typeCCloud.model: ShortString': text(256, 'vertexai.model', (model) => ({ vertexai: { ...VERTEX, model } })),
  'typeAHosted: endpoint required, deploymentName but for v1, apiVersion default v1': [
    [
      { azureopenai: { endpoint: 'a.test' } },
      { azureopenai: { endpoint: 'https://a.test' } },
      { azureopenai: { ...AZURE, deploymentName: letters(256) } },
      { azureopenai: { endpoint: 'a.test', apiVersion: '2024-10-21', deploymentName: 'd' } }
    ],
    [
      [{ azureopenai: {} }, 'azureopenai.endpoint: is required'],
      [{ azureopenai: { endpoint: letters(257) } }, 'azureopenai.endpoint: '],
      [
        { azureopenai: { ...AZURE, apiVersion: letters(65), deploymentName: 'd' } },
        `azureopenai.apiVersion: ${chars(64)}`
      ],
      [{ azureopenai: { ...AZURE, deploymentName: letters(257) } }, `azureopenai.deploymentName: ${NAME_LONG}`],
      [{ azureopenai: { ...AZURE, apiVersion: '2024-10-21' } }, 'azureopenai.deploymentName: ']
    ]
  ],
  'typeCCloud: projectId and region TinyString, required': [
    [{ vertexai: { projectId: letters(64), region: letters(64) } }],
    [
      [{ vertexai: { region: 'r' } }, 'vertexai.projectId: is required'],
      [{ vertexai: { projectId: 'p' } }, 'vertexai.region: is required'],
      [{ vertexai: { ...VERTEX, projectId: letters(65) } }, `vertexai.projectId: ${chars(64)}`],
      [{ vertexai: { ...VERTEX, region: letters(65) } }, `vertexai.region: ${chars(64)}`]
    ]
  ],
  'typeD: region 1..63 of a-z, 0-9 and "-"; guardrail': [
    [{ bedrock: {} }, { bedrock: { region: letters(63) } }, guardrail({ identifier: letters(256), version: 'DRAFT' })],
    [
      [{ bedrock: { region: '' } }, 'bedrock.region: '],
      [{ bedrock: { region: letters(64) } }, 'bedrock.region: '],
      [{ bedrock: { region: 'EU' } }, 'bedrock.region: '],
      [guardrail({ version: '1' }), 'bedrock.guardrail.identifier: is required'],
      [guardrail({ identifier: 'a' }), 'bedrock.guardrail.version: is required'],
      [guardrail({ identifier: 'a', version: letters(257) }), `bedrock.guardrail.version: ${NAME_LONG}`]
    ]
  ],
  'host ShortString, port 1..65535, path LongString': [
    [{ openai: {}, host: 'a', port: 65_535, path: `/${letters(1023)}` }],
    [
      [{ openai: {}, host: '' }, 'host: must'],
      [{ openai: {}, host: letters(257), port: 1 }, 'host: must'],
      [{ openai: {}, host: 'a', port: 0 }, 'port: must be a whole number from 1 to 65535'],
      [{ openai: {}, path: `/${letters(1024)}` }, `path: ${chars(1024)}`]
    ]
  ]
}
walk(PROVIDERS, PROVIDER)

const named = (i: number) => ({ name: `p${i}`, openai: {} })
const GROUPS: Table = {
  'AIBackend: groups 1..32 of 1..32 providers, names unique': [
    [{ groups: times(32, (i) => ({ providers: [named(i)] })) }, { groups: [{ providers: times(32, named) }] }],
    [
      [{ groups: [] }, `groups: ${entries(1, 32)}`],
      [{ groups: times(33, (i) => ({ providers: [named(i)] })) }, `groups: ${entries(1, 32)}`],
      [{ groups: [{ providers: [] }] }, `groups[0].providers: ${entries(1, 32)}`],
      [{ groups: [{ providers: times(33, named) }] }, `groups[0].providers: ${entries(1, 32)}`],
      [{ groups: [{}] }, 'groups[0].providers: is required'],
      [{ groups: [{ providers: [{ openai: {} }] }] }, 'groups[0].providers[0].name: is required'],
      [{ groups: [{ providers: [named(1), named(1)] }] }, 'groups[0].providers[1].name: ']
    ]
  ],
  'NamedLLMProvider.policies: at least one of tcp, tls, http, auth, ai': [
    [{ groups: [{ providers: [{ ...named(1), policies: { auth: { key: 'k' } } }] }] }],
    [
      [
        { groups: [{ providers: [{ ...named(1), policies: {} }] }] },
        'groups[0].providers[0].policies: must have at least one'
      ]
    ]
  ]
}
walk(GROUPS, { path: 'backends[0].ai.', file: (ai) => ({ backends: [{ name: 'b', ai }] }) })

// --- 2.5: MCP ---

const target = (i: number, more: object = {}) => ({ name: `t${i}`, static: { host: 'a', port: 1, ...more } })
const MCP: Table = {
  'MCPBackend: targets 1..32, sessionRouting': [
    [{ targets: times(32, (i) => target(i)) }, { targets: [target(1)], sessionRouting: 'Stateless' }],
    [
      [{ targets: [] }, `targets: ${entries(1, 32)}`],
      [{ targets: times(33, (i) => target(i)) }, `targets: ${entries(1, 32)}`],
      [{}, 'targets: is required'],
      [{ targets: [target(1)], sessionRouting: 'Sticky' }, 'sessionRouting: must be one of Stateful, Stateless']
    ]
  ],
  'McpTarget: host, port, path, protocol': [
    [
      { targets: [target(1, { host: letters(253).replace(/.{60}/g, (part) => `${part.slice(1)}.`), port: 65_535 })] },
      {
        targets: [target(1, { path: `/${letters(1023)}`, protocol: 'SSE' }), target(2, { protocol: 'StreamableHTTP' })]
      }
    ],
    [
      [{ targets: [{ name: 'a', static: { port: 1 } }] }, 'targets[0].static.host: is required'],
      [{ targets: [{ name: 'a', static: { host: 'a' } }] }, 'targets[0].static.port: is required'],
      [{ targets: [target(1, { port: 0 })] }, 'targets[0].static.port: must be a whole number from 1 to 65535'],
      [{ targets: [target(1, { path: `/${letters(1024)}` })] }, `targets[0].static.path: ${chars(1024)}`],
      [
        { targets: [target(1, { protocol: 'HTTP' })] },
        'targets[0].static.protocol: must be one of StreamableHTTP, SSE'
      ],
      [{ targets: [target(1, { policies: {} })] }, 'targets[0].static.policies: must have at least one of'],
      [{ targets: [{ ...target(1), policies: {} }] }, 'targets[0].policies: must have at least one of'],
      [{ targets: [{ name: '', static: { host: 'a', port: 1 } }] }, 'targets[0].name: ']
    ]
  ]
}
walk(MCP, { path: 'backends[0].mcp.', file: (mcp) => ({ backends: [{ name: 'b', mcp }] }) })

walk(
  {
    'GatewayBackendSpec.policies: at least one of tcp, tls, http, auth, mcp, ai': [
      [{ policies: { tls: {} } }],
      [[{ policies: {} }, 'policies: must have at least one of']]
    ]
  },
  { path: 'backends[0].', file: (fields) => ({ backends: [{ name: 'b', host: 'a:1', ...(fields as object) }] }) }
)

// --- 2.6: BackendAuth, BackendAI ---

const AUTH: Table = {
  'BackendAuth.key: 1..2048': [
    [{ auth: { key: letters(2048) } }],
    [
      [{ auth: { key: letters(2049) } }, `auth.key: ${chars(2048)}`],
      [{ auth: { key: '' } }, `auth.key: ${EMPTY}`],
      [{ auth: { key: 5 } }, 'auth.key: must be text'],
      [{ auth: {} }, 'auth: must have exactly one of']
    ]
  ]
}
walk(AUTH, {
  path: 'backends[0].policies.',
  file: (policies) => ({ backends: [{ name: 'b', ai: { provider: { openai: {} } }, policies }] })
})

const edits = (key: string): [string, Row] => [
  `BackendAI.${key}: FieldDefault list, 1..64`,
  [
    [
      { ai: { [key]: times(64, (i) => ({ field: `f${i}`, value: { any: [i] } })) } },
      { ai: { [key]: [{ field: letters(256), value: null }] } }
    ],
    [
      [{ ai: { [key]: [] } }, `ai.${key}: ${entries(1, 64)}`],
      [{ ai: { [key]: times(65, (i) => ({ field: `f${i}`, value: 1 })) } }, `ai.${key}: ${entries(1, 64)}`],
      [{ ai: { [key]: [{ value: 1 }] } }, `ai.${key}[0].field: is required`],
      [{ ai: { [key]: [{ field: letters(257), value: 1 }] } }, `ai.${key}[0].field: ${NAME_LONG}`],
      [{ ai: { [key]: [{ field: 'a' }] } }, `ai.${key}[0].value: is required`]
    ]
  ]
]
const message = { role: 'system', content: 'a' }
const prompts = (key: string): [string, Row] => [
  `BackendAI.prompt.${key}: any number of messages`,
  [
    [{ ai: { prompt: { [key]: times(MANY, () => message) } } }],
    [
      [{ ai: { prompt: { [key]: [{ content: 'a' }] } } }, `ai.prompt.${key}[0].role: is required`],
      [{ ai: { prompt: { [key]: [{ role: 'user' }] } } }, `ai.prompt.${key}[0].content: is required`]
    ]
  ]
]
const guard = (fields: object, side = 'request') => ({ ai: { promptGuard: { [side]: [fields] } } })
const regex = (fields: object, more: object = {}) => guard({ regex: fields, ...more })
const webhook = (fields: object) => guard({ webhook: { backendRef: { name: 'b' }, ...fields } })
const WEBHOOK = 'ai.promptGuard.request[0].webhook'
const rejected = { matches: ['a'], action: 'Reject' }
const AI: Table = {
  ...Object.fromEntries([edits('defaults'), edits('overrides'), prompts('prepend'), prompts('append')]),
  'BackendAI: at least one of its fields': [[], [[{ ai: {} }, 'ai: must have at least one of']]],
  'BackendAI.modelAliases: at most 64': [
    [{ ai: { modelAliases: Object.fromEntries(times(64, (i) => [`m${i}`, 'x'])) } }],
    [[{ ai: { modelAliases: Object.fromEntries(times(65, (i) => [`m${i}`, 'x'])) } }, 'ai.modelAliases: ']]
  ],
  'BackendAI.promptCaching: minTokens from 0': [
    [{ ai: { promptCaching: {} } }, { ai: { promptCaching: { minTokens: 0, cacheSystem: false, cacheTools: true } } }],
    [
      [{ ai: { promptCaching: { minTokens: -1 } } }, 'ai.promptCaching.minTokens: '],
      [{ ai: { promptCaching: { cacheSystem: 'yes' } } }, 'ai.promptCaching.cacheSystem: ']
    ]
  ],
  'AIPromptGuard: 1..8 on each side, at least one': [
    ['request', 'response'].map((side) => ({
      ai: { promptGuard: { [side]: times(8, () => ({ regex: { builtins: ['Ssn'] } })) } }
    })),
    [
      [{ ai: { promptGuard: {} } }, 'ai.promptGuard: must have at least one of'],
      [{ ai: { promptGuard: { request: [] } } }, `ai.promptGuard.request: ${entries(1, 8)}`],
      [
        { ai: { promptGuard: { response: times(9, () => ({ regex: { builtins: ['Ssn'] } })) } } },
        `ai.promptGuard.response: ${entries(1, 8)}`
      ],
      [guard({}), 'ai.promptGuard.request[0]: must have exactly one of']
    ]
  ],
  'Webhook: backendRef required (or the address of a file), forwardHeaderMatches': [
    [
      webhook({}),
      webhook({ backendRef: { name: 'b', kind: 'GatewayBackend' } }),
      webhook({ backendRef: undefined, backend: { host: 'b:80' } }),
      webhook({ forwardHeaderMatches: [{ name: 'a', value: { regex: '.*' } }] })
    ],
    [
      [webhook({ backendRef: undefined }), `${WEBHOOK}: must have exactly one of backendRef, backend`],
      [
        webhook({ backend: { host: 'b:80' } }),
        `${WEBHOOK}: must have exactly one of backendRef, backend, not backendRef and backend`
      ],
      [webhook({ backendRef: {} }), `${WEBHOOK}.backendRef.name: is required`],
      [webhook({ forwardHeaderMatches: [{ name: 'a' }] }), `${WEBHOOK}.forwardHeaderMatches[0].value: is required`]
    ]
  ],
  'typeAModeration, by either name: model, policies; one of a kind': [
    ['typeAModeration', 'openAIModeration'].map((name) =>
      guard({ [name]: { model: 'm', policies: { auth: { key: 'k' } } } })
    ),
    [
      [guard({ typeAModeration: { model: '' } }), `ai.promptGuard.request[0].typeAModeration.model: ${EMPTY}`],
      [guard({ typeAModeration: {}, openAIModeration: {} }), 'ai.promptGuard.request[0]: must have exactly one of'],
      [
        { ai: { promptGuard: { response: [{ typeAModeration: {} }] } } },
        'ai.promptGuard.response[0].typeAModeration: is not a known key'
      ]
    ]
  ],
  'Regex: matches of 1..1024, as many as there are; builtins; action': [
    [
      regex({ matches: [letters(1024)] }),
      regex({ matches: times(MANY, (i) => `a${i}`) }),
      regex({ builtins: ['Ssn', 'CreditCard', 'PhoneNumber', 'Email', 'CaSin'] }),
      regex({ matches: ['a'], action: 'Mask' })
    ],
    [
      [regex({ matches: [letters(1025)] }), `ai.promptGuard.request[0].regex.matches[0]: ${chars(1024)}`],
      [regex({ matches: [''] }), `ai.promptGuard.request[0].regex.matches[0]: ${EMPTY}`],
      [regex({ builtins: ['Name'] }), 'ai.promptGuard.request[0].regex.builtins[0]: must be one of'],
      [regex({ matches: ['a'], action: 'Drop' }), 'ai.promptGuard.request[0].regex.action: must be one of']
    ]
  ],
  'CustomResponse: at least one of message, statusCode 200..599': [
    [
      regex(rejected, { response: { statusCode: 200 } }),
      regex(rejected, { response: { statusCode: 599, message: 'no' } })
    ],
    [
      [regex(rejected, { response: {} }), 'ai.promptGuard.request[0].response: must have at least one of'],
      [regex(rejected, { response: { statusCode: 199 } }), 'ai.promptGuard.request[0].response.statusCode: '],
      [regex(rejected, { response: { statusCode: 600 } }), 'ai.promptGuard.request[0].response.statusCode: ']
    ]
  ]
}
walk(AI, {
  path: 'backends[0].policies.',
  file: (policies) => ({ backends: [{ name: 'b', ai: { provider: { openai: {} } }, policies }] })
})

// --- what has no bound in the specification, and what has one ---

walk(
  {
    'AuthorizationPolicy.matchExpressions: any number': [
      [{ authorization: { policy: { matchExpressions: times(MANY, () => 'true') } } }],
      [
        [
          { authorization: { policy: { matchExpressions: [cel(16_385)] } } },
          'authorization.policy.matchExpressions[0]: '
        ]
      ]
    ],
    'MCPAuthentication: issuer ShortString, audiences 1..64': [
      [{ mcpAuthentication: { issuer: 'https://a', audiences: times(64, (i) => `a${i}`) } }],
      [
        [{ mcpAuthentication: { issuer: `https://${letters(256)}` } }, 'mcpAuthentication.issuer: '],
        [
          { mcpAuthentication: { issuer: 'https://a', audiences: [] } },
          `mcpAuthentication.audiences: ${entries(1, 64)}`
        ],
        [
          { mcpAuthentication: { issuer: 'https://a', audiences: times(65, (i) => `a${i}`) } },
          `mcpAuthentication.audiences: ${entries(1, 64)}`
        ]
      ]
    ]
  },
  ROUTE
)

walk(
  {
    'SNI: 1..253 of a-z, 0-9, "-" and "."': [
      [{ tls: { sni: 'a-1.b' } }, { tls: { sni: letters(253) } }],
      [
        ...['A.test', 'a_b', 'a..b', '-a', 'a-', '.a', 'a.'].map(
          (sni) => [{ tls: { sni } }, 'tls.sni: must be'] as const
        ),
        [{ tls: { sni: letters(254) } }, `tls.sni: ${chars(253)}`],
        [{ tls: { sni: '' } }, `tls.sni: ${EMPTY}`]
      ]
    ],
    'Keepalive.time: default 180s': [
      [{ tcp: { keepalive: {} } }, { tcp: { keepalives: {} } }],
      [[{ tcp: { keepalive: { time: 180 } } }, `tcp.keepalive.time: ${NO_DURATION}`]]
    ]
  },
  BACKEND
)
