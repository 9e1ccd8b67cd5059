/**
 * `npm run conformance -- kubectl`: what docs/kubernetes.md says to type, and one of each resource, typed at a real API
 * server with the controller and its data planes behind it. Writes docs/kubernetes-transcript.md. Needs Go, and root.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import type { Cluster } from './cluster/cluster.ts'
import { imagesWith } from './images.ts'
import { kubectlProgram, Shell } from './kubectl.ts'
import { inSuiteCluster } from './suite-cluster.ts'
import { coverageTable } from './transcript/coverage.ts'
import { METADATA_ADDRESS, startMetadata } from './transcript/players/metadata.ts'
import { playersManifest } from './transcript/players.ts'
import { RESOURCE_STEPS } from './transcript/resources.ts'
import { awaited, type Command, type Step, seen } from './transcript/steps.ts'
import { makeTokens } from './transcript/tokens.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'dist', 'kubectl')
const PAGE = join(ROOT, 'docs', 'kubernetes-transcript.md')
const RETRY_MS = 250
const AWAITED_MS_MAX = 60_000

const HEADER = `# Transcript of a cluster

What [kubernetes.md](kubernetes.md) says, typed: \`npm run conformance -- kubectl\` writes this page. The API server and
kubectl are those of Kubernetes; the kubelet, the controllers of Deployments and Services, and the load balancer are
played (\`scripts/kubernetes/cluster\`). The controller, the data planes, the model and most MCP servers are \`weir\`.
Played are also an echo, the services that policies ask, and the authority of the mesh
(\`scripts/kubernetes/transcript/players\`). The program checks each answer, and fails when one is another.
`

const INSTALLATION: Step = {
  title: 'Installation',
  text: 'The CRDs of the Gateway API and of weir.dev are there.',
  files: {},
  commands: [
    seen('kubectl apply --server-side -f kubernetes.yaml', /deployment\.apps\/weir-controller serverside-applied/),
    awaited('kubectl -n weir-system get deployment weir-controller', /weir-controller +1\/1/),
    awaited('kubectl get gatewayclass weir', /weir +weir.dev\/gateway-controller +True/)
  ]
}

/** False: something was not as it should be. */
export function runTranscript(print: (line: string) => void): Promise<boolean> {
  kubectlProgram()
  return inSuiteCluster({ folder: FOLDER, imageOf: imagesWith('') }, (cluster) => typedIn(cluster, print))
}

async function typedIn(cluster: Cluster, print: (line: string) => void): Promise<boolean> {
  execFileSync('ip', ['addr', 'add', `${METADATA_ADDRESS}/32`, 'dev', 'lo'])
  const metadata = await startMetadata()
  try {
    const shell = new Shell(join(FOLDER, 'shell'), cluster.apiServer)
    shell.write('kubernetes.yaml', readFileSync(join(ROOT, 'scripts', 'package', 'kubernetes.yaml'), 'utf8'))
    const { keySet, files } = await makeTokens()
    for (const [name, token] of Object.entries(files)) shell.write(name, token)
    shell.write('players.json', playersManifest(keySet, ROOT))
    await shell.run('kubectl apply -f players.json')
    const failed: string[] = []
    const sections: string[] = []
    for (const step of [INSTALLATION, ...RESOURCE_STEPS]) sections.push(await typed(shell, step, failed))
    for (const one of failed) print(`kubectl: ${one}`)
    print(`kubectl: ${failed.length === 0 ? 'all as it should be' : `${failed.length} failed; see ${FOLDER}`}`)
    if (failed.length === 0) writeFileSync(PAGE, [HEADER, coverageTable(), ...sections].join('\n'))
    return failed.length === 0
  } finally {
    metadata.close()
  }
}

/** A section of the page. What is not shown that should be is added to `failed`. */
async function typed(shell: Shell, { title, text, files, commands }: Step, failed: string[]): Promise<string> {
  const shown = Object.entries(files).map(([name, content]) => {
    shell.write(name, content)
    return `\`${name}\`:\n\n\`\`\`${extname(name).slice(1)}\n${content}\`\`\`\n`
  })
  const lines: string[] = []
  for (const command of commands) {
    const output = await outputOf(shell, command)
    // Heads of HTTP end their lines with CRLF.
    lines.push(`$ ${command.run}\n${output.replaceAll('\r', '').trimEnd()}\n`)
    if (!command.shows.test(output)) failed.push(`${command.run}: ${output}`)
  }
  return [`## ${title}\n`, `${text}\n`, ...shown, `\`\`\`\n${lines.join('\n')}\`\`\`\n`].join('\n')
}

async function outputOf(shell: Shell, { run, shows, isAwaited }: Command): Promise<string> {
  const late = AbortSignal.timeout(AWAITED_MS_MAX)
  for (;;) {
    const output = await shell.run(run)
    if (isAwaited !== true || shows.test(output) || late.aborted) return output
    await after(RETRY_MS)
  }
}
