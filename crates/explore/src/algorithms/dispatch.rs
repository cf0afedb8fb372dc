//! What the table of algorithms is turned into.

/// Defines the names of algorithms, and one algorithm that is any of them: there is one dispatch for each execution, and no branch is boxed.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $name:ident: $algorithm:ty, $spelling:literal, $equivalence:literal;)*) => {
        /// How to explore: the name of an algorithm.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum AlgorithmName {
            $($(#[$doc])* $name,)*
        }

        impl AlgorithmName {
            /// All of them, as users spell them.
            pub const NAMES: [(&'static str, AlgorithmName); [$($spelling),*].len()] =
                [$(($spelling, AlgorithmName::$name),)*];

            /// The same in one line, for help texts.
            pub const CHOICES: &'static str = concat!($("|", $spelling),*).split_at(1).1;

            /// As users spell it.
            pub fn name(self) -> &'static str {
                match self {
                    $(AlgorithmName::$name => $spelling,)*
                }
            }

            /// Which executions count as the same.
            pub fn equivalence(self) -> &'static str {
                match self {
                    $(AlgorithmName::$name => $equivalence,)*
                }
            }
        }

        /// Any algorithm of the table, with room for what it finds.
        #[derive(Debug)]
        pub enum AnyAlgorithm {
            $(#[allow(missing_docs)] $name(Box<($algorithm, Found<<$algorithm as Algorithm>::Payload>)>),)*
        }

        /// What a branch carries for any of them.
        #[derive(Clone, Debug)]
        pub enum AnyPayload {
            $(#[allow(missing_docs)] $name(<$algorithm as Algorithm>::Payload),)*
        }

        impl Algorithm for AnyAlgorithm {
            type Payload = AnyPayload;

            fn new(options: &Options, claims: &Arc<dyn Claims>) -> AnyAlgorithm {
                match options.algorithm.within(options) {
                    $(AlgorithmName::$name => {
                        let algorithm = <$algorithm as Algorithm>::new(options, claims);
                        AnyAlgorithm::$name(Box::new((algorithm, Found::default())))
                    })*
                }
            }

            fn first(options: &Options) -> (Policy, AnyPayload) {
                match options.algorithm.within(options) {
                    $(AlgorithmName::$name => {
                        let (policy, payload) = <$algorithm as Algorithm>::first(options);
                        (policy, AnyPayload::$name(payload))
                    })*
                }
            }

            fn branches(
                &mut self,
                ran: Ran<'_, AnyPayload>,
                out: &mut Found<AnyPayload>,
            ) -> Result<(), Unfit> {
                let Ran { plan, payload, execution, interrupt } = ran;
                match (self, payload) {
                    $((AnyAlgorithm::$name(it), AnyPayload::$name(payload)) => {
                        let (algorithm, found) = &mut **it;
                        let fit = algorithm.branches(Ran { plan, payload, execution, interrupt }, found);
                        let children = found.children.drain(..);
                        out.children.extend(children.map(|new| new.map(AnyPayload::$name)));
                        let rest = found.rest.take();
                        out.rest = rest.map(|(from, payload)| (from, AnyPayload::$name(payload)));
                        out.kept = found.kept.take();
                        out.cut |= found.cut;
                        out.claimed = found.claimed;
                        out.repeats = std::mem::take(&mut found.repeats);
                        fit
                    })*
                    _ => unreachable!("a branch of another algorithm"),
                }
            }

            fn store(payload: &AnyPayload, nodes: &mut NodeStore) -> StoredPayload {
                match payload {
                    $(AnyPayload::$name(payload) => <$algorithm as Algorithm>::store(payload, nodes),)*
                }
            }

            fn restore(
                options: &Options,
                stored: StoredPayload,
                nodes: &[Arc<Node>],
            ) -> Result<AnyPayload, Malformed> {
                match options.algorithm.within(options) {
                    $(AlgorithmName::$name => {
                        let payload = <$algorithm as Algorithm>::restore(options, stored, nodes);
                        payload.map(AnyPayload::$name)
                    })*
                }
            }
        }
    };
}

pub(super) use algorithms;
