/** kubectl, built as the API server is (kubectl/go.mod, go.sum), and a shell that has it. */
import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ApiServer } from './cluster/cluster.ts'
import { GoModule } from './go-module.ts'
import { KUBERNETES_VERSION } from './programs.ts'

const STAMP = `-X k8s.io/component-base/version.gitVersion=${KUBERNETES_VERSION}`

/** Path of the program. Throws an Error that says what is missing. */
export function kubectlProgram(): string {
  const module = new GoModule(join(import.meta.dirname, 'kubectl'), 'kubectl')
  return module.program('kubectl', ['build'], 'k8s.io/kubernetes/cmd/kubectl', `-s -w ${STAMP}`)
}

/** `in-pod GATEWAY PROGRAM...`: on the node, in the network of a data plane of that Gateway. */
const IN_POD = `#!/bin/sh
gateway=$1
shift
for process in $(pgrep -f 'weir.mjs'); do
  if tr '\\0' '\\n' <"/proc/$process/environ" | grep -qx "GATEWAY=$gateway"; then
    exec nsenter --net --target "$process" "$@"
  fi
done
echo "no data plane of $gateway" >&2
exit 1
`

export class Shell {
  readonly folder: string
  readonly #environment: NodeJS.ProcessEnv

  /** `folder`: where commands run; it is made. */
  constructor(folder: string, server: ApiServer) {
    this.folder = folder
    mkdirSync(join(folder, '.bin'), { recursive: true })
    copyFileSync(kubectlProgram(), join(folder, '.bin', 'kubectl'))
    writeFileSync(join(folder, '.bin', 'in-pod'), IN_POD, { mode: 0o755 })
    const kubeconfig = join(folder, '.kubeconfig')
    writeFileSync(kubeconfig, kubeconfigOf(server), { mode: 0o600 })
    const path = `${join(folder, '.bin')}:${process.env.PATH}`
    this.#environment = { ...process.env, PATH: path, KUBECONFIG: kubeconfig, HOME: folder }
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true })
    writeFileSync(join(this.folder, name), text)
  }

  /** What a terminal would show of both outputs, whatever the exit code is. */
  async run(command: string): Promise<string> {
    const child = spawn('sh', ['-c', `exec 2>&1\n${command}`], {
      cwd: this.folder,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'inherit']
    })
    let text = ''
    for await (const chunk of child.stdout) text += String(chunk)
    return text
  }
}

const kubeconfigOf = ({ origin, ca, token }: ApiServer): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'own',
    contexts: [{ name: 'own', context: { cluster: 'own', user: 'own' } }],
    clusters: [{ name: 'own', cluster: { server: origin, 'certificate-authority-data': btoa(ca) } }],
    users: [{ name: 'own', user: { token } }]
  })
