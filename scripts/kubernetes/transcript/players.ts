/** What stands behind the Gateway, by the image of weir: a model that always answers the same, and an MCP server. */

const ANSWER = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 0,
  model: 'tiny',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello from the cluster' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 4, total_tokens: 5 }
}

const NONE = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 1 }

const MODEL = {
  config: NONE,
  binds: [
    {
      port: 8080,
      listeners: [{ routes: [{ policies: { directResponse: { status: 200, body: JSON.stringify(ANSWER) } } }] }]
    }
  ]
}

const TOOLS = {
  config: NONE,
  mcp: {
    port: 8080,
    targets: [{ name: 'clock', stdio: { cmd: 'weir', args: ['mcp-server', 'clock'] } }]
  }
}

const run = (name: string, configuration: object, port: object, labels: object = {}) => [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'chat' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          containers: [{ name, image: 'weir:0.1.0', args: ['-c', JSON.stringify(configuration)] }]
        }
      }
    }
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'chat', labels },
    spec: { selector: { app: name }, ports: [{ targetPort: 8080, ...port }] }
  }
]

/** As a manifest, which JSON is too. */
export const PLAYERS = JSON.stringify({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'chat' } },
    ...run('model', MODEL, { port: 80 }),
    ...run('clock', TOOLS, { port: 80, appProtocol: 'kgateway.dev/mcp' }, { serves: 'mcp' })
  ]
})
