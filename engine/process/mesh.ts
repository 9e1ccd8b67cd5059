/** This process as a workload of a mesh: one thread asks for the certificate, and all workers show it. */
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import { CertificateAuthority } from '#engine/kubernetes/mesh/certificate-authority.ts'
import { WorkloadCertificate } from '#engine/kubernetes/mesh/workload-certificate.ts'
import type { Supervisor } from '#engine/workers/supervisor.ts'
import type { MeshSettings } from './mesh-options.ts'

export function workloadCertificate(
  { authority, clusterId, trustDomain, identity, roots, token }: MeshSettings,
  supervisor: Pick<Supervisor, 'setMesh'>,
  log: (level: 'info' | 'warn' | 'error', message: string) => void
): WorkloadCertificate {
  const signer = new CertificateAuthority(authority, clusterId)
  return new WorkloadCertificate({
    trustDomain,
    identity,
    roots,
    sign: (request, ca) => signer.sign({ request, ca, token: token() }),
    onCredentials: (credentials) => supervisor.setMesh(credentials),
    time: SYSTEM_TIME,
    log
  })
}
