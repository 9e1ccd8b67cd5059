/** What the translation of routes is told of the cluster, and of the Gateway that it is for. */
export interface RouteOptions {
  /** Of names of Services: "cluster.local". */
  readonly clusterDomain: string
  /** Of the Gateway, shown to Services with a BackendTLSPolicy (Gateway.spec.tls.backend); paths of its files. */
  readonly clientCertificate?: { readonly cert: string; readonly key: string }
}
